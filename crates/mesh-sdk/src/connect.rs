//! The way in for a program that is handed a credential and does not care which broker it leads to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use mesh_core::credential::{BrokerUrl, Credential, Document};
use mesh_core::identity::Principal;
use mesh_core::name::{ModuleName, NodeName};
use mesh_core::port::{Connection, ErrorKind, Operation, TransportError};
use mesh_session::{document, unreadable};

/// Names the file that holds this process's credential.
const CREDENTIAL: &str = "MESH_CREDENTIAL";

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// `MESH_CREDENTIAL` is not set, or empty.
    #[error("{CREDENTIAL} is not set: it names the file with the credential of this process")]
    NotNamed,
    /// The file holds a bootstrap URL. Whoever has no more than that is nobody yet (protocol §5), and a
    /// broker is somebody's.
    #[error(
        "{}: this is a bootstrap URL, which names nobody: a credential names a module or a person",
        .path.display()
    )]
    Bootstrap {
        /// The file.
        path: PathBuf,
    },
    /// The credential leads to a broker whose adapter was not built in.
    #[error("the credential leads to {scheme}: build mesh-sdk with its feature `{feature}`")]
    NoAdapter {
        /// How its URL begins.
        scheme: &'static str,
        /// The feature of this crate that brings the adapter.
        feature: &'static str,
    },
    /// The file can't be read, or the broker did not let us in.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// The file that `MESH_CREDENTIAL` names: what a program's own [`connect`] is given.
///
/// # Errors
/// [`ConnectError::NotNamed`].
pub fn credential_path() -> Result<PathBuf, ConnectError> {
    match std::env::var_os(CREDENTIAL) {
        Some(path) if !path.is_empty() => Ok(path.into()),
        _ => Err(ConnectError::NotNamed),
    }
}

/// Connects as whom the credential in the file at `path` says, to the broker that its URL leads to:
/// `tls://` and `nats://` to NATS, `amqps://` to RabbitMQ, `mem:` to a mesh of this process
/// ([`InMemoryMesh::listen`](mesh_transport_mem::InMemoryMesh::listen)). Each needs the feature of that
/// name.
///
/// ```no_run
/// # async fn run(manifest: &mesh_core::manifest::ModuleManifest) -> Result<(), Box<dyn std::error::Error>> {
/// use mesh_sdk::{Broker, connect, credential_path};
///
/// let connection = connect(credential_path()?).await?;
/// let mail = Broker::builder(connection).manifest(manifest).build()?;
/// # Ok(())
/// # }
/// ```
///
/// A connection to a server that is lost is made again, with the file as it is then; one that has become
/// another principal's is refused. With other settings than the usual ones connect by the adapter itself:
/// [`nats`](crate::nats), [`amqp`](crate::amqp).
///
/// Who one is comes from the file and from nowhere else. Where `MESH_NODE` or `MESH_MODULE` says
/// otherwise, that is logged and counts for nothing ([`Broker::principal`](crate::Broker::principal)).
///
/// # Errors
/// [`ConnectError`].
pub async fn connect(path: impl AsRef<Path>) -> Result<Connection, ConnectError> {
    let path = path.as_ref();
    let credential = match Document::parse(document(path)?) {
        Ok(Document::Scoped(credential)) => credential,
        Ok(Document::Bootstrap(_)) => return Err(ConnectError::Bootstrap { path: path.into() }),
        Err(error) => return Err(unreadable(error).about(path.to_string_lossy()).into()),
    };
    let connection = match credential.url() {
        BrokerUrl::Memory { .. } => memory(&credential)?,
        BrokerUrl::Nats { .. } => nats(path).await?,
        BrokerUrl::Amqps { .. } => amqp(path).await?,
        _ => return Err(TransportError::new(ErrorKind::Unsupported, Operation::Connect).into()),
    };
    for Overruled { variable, says, is } in overruled(connection.principal(), std::env::var_os) {
        tracing::warn!(variable, ?says, is, "the environment names another than the credential");
    }
    Ok(connection)
}

#[cfg(feature = "memory")]
fn memory(credential: &Credential) -> Result<Connection, ConnectError> {
    Ok(mesh_transport_mem::connect(credential)?)
}

#[cfg(not(feature = "memory"))]
fn memory(_: &Credential) -> Result<Connection, ConnectError> {
    Err(ConnectError::NoAdapter { scheme: "mem:", feature: "memory" })
}

#[cfg(feature = "nats")]
async fn nats(path: &Path) -> Result<Connection, ConnectError> {
    use mesh_transport_nats::{NatsOptions, Source, connect};
    Ok(connect(Source::file(path), NatsOptions::default()).await?)
}

#[cfg(not(feature = "nats"))]
async fn nats(_: &Path) -> Result<Connection, ConnectError> {
    Err(ConnectError::NoAdapter { scheme: "tls://", feature: "nats" })
}

#[cfg(feature = "amqp")]
async fn amqp(path: &Path) -> Result<Connection, ConnectError> {
    use mesh_transport_amqp::{AmqpOptions, Source, connect};
    Ok(connect(Source::file(path), AmqpOptions::default()).await?)
}

#[cfg(not(feature = "amqp"))]
async fn amqp(_: &Path) -> Result<Connection, ConnectError> {
    Err(ConnectError::NoAdapter { scheme: "amqps://", feature: "amqp" })
}

/// A variable that says something else than the credential.
struct Overruled<'a> {
    variable: &'static str,
    says: OsString,
    is: &'a str,
}

fn overruled(
    principal: &Principal,
    read: impl Fn(&'static str) -> Option<OsString>,
) -> impl Iterator<Item = Overruled<'_>> {
    let (node, module) = match principal {
        Principal::Module { node, module } => (Some(node), Some(module)),
        Principal::Host { node } | Principal::Builder { node } => (Some(node), None),
        _ => (None, None),
    };
    let (node, module) = (node.map(NodeName::as_str), module.map(ModuleName::as_str));
    [("MESH_NODE", node), ("MESH_MODULE", module)].into_iter().filter_map(move |(variable, is)| {
        let (is, says) = (is?, read(variable)?);
        (says != is).then_some(Overruled { variable, says, is })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_agrees_or_is_not_set_is_not_told_of() {
        let principal = mesh_testkit::fixtures::module("n1", "mail");
        let found = |node: Option<&'static str>, module: Option<&'static str>| {
            let read = move |variable: &str| match variable {
                "MESH_NODE" => node.map(OsString::from),
                "MESH_MODULE" => module.map(OsString::from),
                _ => None,
            };
            let found = overruled(&principal, read);
            found.map(|of| (of.variable, of.is.to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(found(Some("n1"), Some("mail")), []);
        assert_eq!(found(None, None), []);
        let (node, module) = (("MESH_NODE", "n1".to_owned()), ("MESH_MODULE", "mail".to_owned()));
        assert_eq!(found(Some("n2"), None), [node.clone()]);
        assert_eq!(found(Some(""), Some("vault")), [node, module]);
    }
}
