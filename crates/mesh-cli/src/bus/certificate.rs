//! `mesh bus certificate`.

use std::fmt;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use mesh_control::secrets::{Overwrite, certificate_fingerprint, may_write, write_document};
use mesh_core::credential::Secret;
use rcgen::{CertificateParams, KeyPair};
use serde::Serialize;
use time::{Duration, OffsetDateTime};

use crate::operator::document_failure;
use crate::shell::{Answer, Exit, Failure, Shell};

/// Clocks of other machines may be behind.
const BEFORE: Duration = Duration::days(1);

/// Make the bus's certificate: self-signed, with a key that nobody else may read.
///
/// Clients trust it by its fingerprint, which each credential carries, and by nothing else.
#[derive(Debug, Args)]
pub(super) struct Certificate {
    /// The folder for cert.pem and key.pem: `tls` in the bus's folder, unless the mesh file says otherwise. What is
    /// there is left alone.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// A host name or address that it stands for; may be given more than once.
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    name: Vec<String>,
    /// For how many days it holds.
    #[arg(long, value_name = "DAYS", default_value_t = 3650, value_parser = clap::value_parser!(u16).range(1..))]
    days: u16,
}

pub(super) fn run(asked: &Certificate, shell: &mut Shell) -> Result<Exit, Failure> {
    let (cert, key) = (asked.folder.join("cert.pem"), asked.folder.join("key.pem"));
    // For this user alone, as the bus's folder itself: who may read there can keep a supervisor from it.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&asked.folder);
    made.map_err(|error| {
        let hint = "name a folder, in one that this user may write to";
        Failure::new(format!("can't make it: {error}"), hint).at(asked.folder.display())
    })?;
    may_write(&key, Overwrite::Never).map_err(|error| document_failure(&error))?;
    let no_name = |error: rcgen::Error| {
        Failure::new(
            format!("no certificate can be made: {error}"),
            "name hosts or addresses with --name, such as bus.example or 10.0.0.1",
        )
    };
    let mut params = CertificateParams::new(asked.name.clone()).map_err(no_name)?;
    let now = OffsetDateTime::now_utc();
    params.not_before = now - BEFORE;
    params.not_after = now + Duration::days(i64::from(asked.days));
    let pair = KeyPair::generate().map_err(no_name)?;
    let made = params.self_signed(&pair).map_err(no_name)?;
    let pem = made.pem();
    let fingerprint = certificate_fingerprint(pem.as_bytes())
        .ok_or_else(|| Failure::new("it can't be read again", "this is a mistake of ours"))?;
    // The certificate first: who is broken off before the key is there can say so by its absence.
    write_new(&cert, pem.as_bytes()).map_err(|error| unwritten(&error, &cert))?;
    write_document(&key, &Secret::new(pair.serialize_pem()), Overwrite::Never)
        .map_err(|error| document_failure(&error))?;
    shell.answer(&Made {
        certificate: cert.display().to_string(),
        key: key.display().to_string(),
        fingerprint: fingerprint.to_string(),
    })?;
    Ok(Exit::Good)
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn unwritten(error: &std::io::Error, path: &Path) -> Failure {
    let hint = match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            "take it away if nobody has its fingerprint any more: every credential names one"
        }
        _ => "name a folder that this user may write to",
    };
    Failure::new(format!("can't write it: {error}"), hint).at(path.display())
}

#[derive(Debug, Serialize)]
struct Made {
    certificate: String,
    key: String,
    /// For `--fingerprint`, where the certificate itself is not at hand.
    fingerprint: String,
}

impl Answer for Made {
    const SCHEMA: &'static str = "mesh.bus.certificate/1";
}

/// The fingerprint alone, so that it can be handed on as it is.
impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.fingerprint)
    }
}
