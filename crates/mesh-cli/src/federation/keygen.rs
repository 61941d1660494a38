//! `mesh federation keygen`.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use mesh_federation::security::generate;
use serde::Serialize;
use serde_json::value::RawValue;

use super::config::AlgorithmName;
use crate::shell::{Answer, Exit, Failure, Shell};

/// Make a key that proves a realm (MXSEC/1): the private half into a new file, the public one printed.
#[derive(Debug, Args)]
pub(super) struct Keygen {
    /// Where the private key goes. A file that is there is left alone.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Which kind of key.
    #[arg(long, value_enum, default_value_t = AlgorithmName::EdDsa)]
    algorithm: AlgorithmName,
}

pub(super) fn run(asked: &Keygen, shell: &mut Shell) -> Result<Exit, Failure> {
    let generated = generate(asked.algorithm.into()).map_err(|error| {
        Failure::new(error.to_string(), "the system gives no randomness; try again")
    })?;
    write(&asked.file, generated.pem()).map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                "name a file that isn't there: a key that is replaced can't be had back"
            }
            _ => "name a file in a folder that this user may write to",
        };
        Failure::new(format!("can't write it: {error}"), hint).at(asked.file.display())
    })?;
    let keys = RawValue::from_string(format!("{{\"keys\":[{}]}}", generated.jwk()));
    let keys =
        keys.map_err(|error| Failure::new(error.to_string(), "this is a mistake of ours"))?;
    let (file, kid) = (asked.file.display().to_string(), generated.kid().to_owned());
    shell.answer(&Made { file, kid, jwks: keys })?;
    Ok(Exit::Good)
}

/// Readable for its owner alone, from the beginning.
fn write(path: &Path, pem: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(pem.as_bytes())?;
    file.sync_all()
}

#[derive(Debug, Serialize)]
struct Made {
    file: String,
    /// For `security.kid`.
    kid: String,
    /// For the realm's document, and for `jwks` of its peers.
    jwks: Box<RawValue>,
}

impl Answer for Made {
    const SCHEMA: &'static str = "mesh.federation.key/1";
}

/// The public half alone, so that it can be written into a file as it is.
impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.jwks.get())
    }
}
