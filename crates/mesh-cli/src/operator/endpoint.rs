//! Where a bus is, for who is given a credential of it.

use std::path::{Path, PathBuf};

use clap::Args;
use mesh_control::secrets::Endpoint;
use mesh_core::credential::{BrokerUrl, Fingerprint, Fingerprints, UrlError};
use mesh_core::manifest::Bus;

use crate::shell::{Failure, input};

/// A chain of certificates is some kilobytes.
const MOST: usize = 1024 * 1024;

/// See the module.
#[derive(Debug, Args)]
pub(crate) struct At {
    /// Where the bus is reached: `tls://host:port`. Where the mesh file lets it listen, if not given.
    #[arg(long, value_name = "URL")]
    // Read here, not by clap, which repeats what it can't read: a password, by mistake.
    url: Option<String>,
    /// The SHA-256 of a certificate that the bus may present; several for one that is about to change. That of the
    /// mesh file's certificate, if not given.
    #[arg(long, value_name = "SHA256")]
    fingerprint: Vec<Fingerprint>,
    /// The certificate that the bus presents, PEM, in place of --fingerprint.
    #[arg(long, value_name = "FILE", conflicts_with = "fingerprint")]
    certificate: Option<PathBuf>,
}

impl At {
    /// What was said of it, and the mesh file for the rest. `folder` is where its relative paths begin.
    pub(crate) fn endpoint(&self, bus: &Bus, folder: &Path) -> Result<Endpoint, Failure> {
        let url = match self.url.as_deref().map(str::parse::<BrokerUrl>) {
            Some(Ok(url)) if url.server().is_some_and(|server| server.login().is_none()) => url,
            Some(read) => {
                let what = match read {
                    Ok(_) => "not the URL of a bus without a user and password".to_owned(),
                    Err(error) => error.to_string(),
                };
                return Err(Failure::new(what, "write it so: tls://bus.example:4222").at("--url"));
            }
            None if bus.listen.ip().is_unspecified() => {
                let what = format!("the mesh file lets it listen everywhere ({})", bus.listen);
                let hint = "say where it is reached: --url tls://bus.example:4222";
                return Err(Failure::new(what, hint).at("--url"));
            }
            None => {
                let url = format!("tls://{}", bus.listen).parse();
                url.map_err(|error: UrlError| {
                    Failure::new(error.to_string(), "say where it is reached with --url")
                })?
            }
        };
        let fingerprints = match &*self.fingerprint {
            [] => certificate(&match &self.certificate {
                Some(path) => path.clone(),
                None => folder.join(bus.tls.cert.as_str()),
            })?
            .into(),
            given => Fingerprints::new(given.to_vec()).ok_or_else(|| {
                let what = format!("{} of them, at most {}", given.len(), Fingerprints::MAX);
                Failure::new(what, "name the certificate of now, and the next").at("--fingerprint")
            })?,
        };
        Ok(Endpoint { url, fingerprints })
    }
}

/// The fingerprint of the first certificate in a file: the one that is presented.
fn certificate(path: &Path) -> Result<Fingerprint, Failure> {
    let hint = "name the certificate that the bus presents with --certificate, or its SHA-256 with --fingerprint";
    let pem = match input::bytes(path, MOST) {
        Err(_) if !path.exists() => {
            let what = "there is no certificate, and the bus speaks TLS alone";
            let folder = path.parent().unwrap_or(Path::new(".")).display();
            let make = format!(
                "see that the path is right; for a new bus: `mesh bus certificate {folder}`"
            );
            return Err(Failure::new(what, make).or(hint).at(path.display()));
        }
        read => read?,
    };
    mesh_control::secrets::certificate_fingerprint(&pem)
        .ok_or_else(|| Failure::new("no certificate in PEM is in it", hint).at(path.display()))
}
