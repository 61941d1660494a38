use std::fs::{self, File, OpenOptions};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::servers::port::Port;
use crate::servers::{Certificate, ServerError};

/// What a configuration must name: the server's ports, and its files in a folder of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// A name that no other server of the same cluster has.
    pub name: String,
    /// Where clients are to reach it.
    pub client: SocketAddr,
    /// Where the harness asks whether it is well. Plain HTTP.
    pub monitoring: SocketAddr,
    /// Where the others of its cluster reach it.
    pub cluster: SocketAddr,
    /// The cluster addresses of all members, its own among them; none for a single server.
    pub routes: Vec<SocketAddr>,
    /// The folder that goes with the server.
    pub folder: PathBuf,
    /// Where JetStream is to keep what it stores.
    pub store: PathBuf,
    /// The files of the certificate and of its key, if the configuration has one.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// A folder and ports that are one server's for as long as this lives.
#[derive(Debug)]
pub(super) struct Site {
    name: String,
    folder: TempDir,
    client: Port,
    monitoring: Port,
    cluster: Port,
    routes: Vec<SocketAddr>,
}

impl Site {
    pub(super) fn reserve(name: &str) -> Result<Self, ServerError> {
        let port = || Port::reserve().map_err(ServerError::io("reserving a port"));
        let folder = tempfile::Builder::new()
            .prefix("mesh-nats-")
            .tempdir()
            .map_err(ServerError::io("making a folder for nats-server"))?;
        Ok(Self {
            name: name.to_owned(),
            folder,
            client: port()?,
            monitoring: port()?,
            cluster: port()?,
            routes: Vec::new(),
        })
    }

    /// Makes it one of a cluster.
    pub(super) fn join(&mut self, routes: Vec<SocketAddr>) {
        self.routes = routes;
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn cluster(&self) -> SocketAddr {
        self.cluster.address()
    }

    pub(super) fn client(&self) -> SocketAddr {
        self.client.address()
    }

    pub(super) fn monitoring(&self) -> SocketAddr {
        self.monitoring.address()
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn config_file(&self) -> PathBuf {
        self.folder().join("nats-server.conf")
    }

    /// The place as a configuration with this certificate sees it, whose files are written.
    pub(super) fn place(&self, certificate: Option<&Certificate>) -> Result<Place, ServerError> {
        Ok(Place {
            name: self.name.clone(),
            client: self.client(),
            monitoring: self.monitoring(),
            cluster: self.cluster(),
            routes: self.routes.clone(),
            folder: self.folder().to_owned(),
            store: self.folder().join("store"),
            certificate: certificate.map(|pair| self.keep(pair)).transpose()?,
        })
    }

    /// Each certificate has files of its own: one that is replaced stays until then.
    fn keep(&self, pair: &Certificate) -> Result<(PathBuf, PathBuf), ServerError> {
        let write = |name: String, text: &str| {
            let path = self.folder().join(name);
            fs::write(&path, text).map_err(ServerError::io(format!("writing {path:?}")))?;
            Ok(path)
        };
        let print = pair.fingerprint();
        Ok((
            write(format!("{print}.pem"), pair.cert_pem())?,
            write(format!("{print}.key"), pair.key_pem())?,
        ))
    }

    /// The log, to write at its end.
    pub(super) fn open_log(&self) -> Result<File, ServerError> {
        let path = self.log_file();
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        opened.map_err(ServerError::io(format!("opening {path:?}")))
    }

    /// All that the server has logged; nothing before its first start.
    pub(super) fn log(&self) -> String {
        let bytes = fs::read(self.log_file()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn log_file(&self) -> PathBuf {
        self.folder().join("nats-server.log")
    }
}
