mod documents;
mod shown;
mod store;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use mesh_core::credential::{Fingerprint, Secret};
use mesh_core::name::UserName;
use mesh_core::time::Timestamp;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
const CHEAP: Method = Method::Bcrypt { cost: 4 };

fn user(name: &str) -> UserName {
    name.parse().unwrap()
}

fn endpoint() -> Endpoint {
    let pin: Fingerprint = "ab".repeat(32).parse().unwrap();
    Endpoint { url: "tls://bus.example".parse().unwrap(), fingerprints: pin.into() }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A folder of mode 700 in a place that is gone at the end.
fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("store");
    (place, folder)
}

fn document() -> Secret {
    Secret::new(r#"{"url": "tls://u:planted-s3cr3t@h"}"#)
}
