//! The way in for a program that is handed a credential and does not care which broker it leads to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use mesh_core::credential::{BrokerUrl, Document};
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
    #[error(
        "the credential leads to {scheme}, so mesh-sdk has to be built with its feature `{feature}`"
    )]
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

/// The file that `MESH_CREDENTIAL` names: what a program of its own gives to [`connect`].
///
/// # Errors
/// [`ConnectError::NotNamed`].
pub fn credential_path() -> Result<PathBuf, ConnectError> {
    named(std::env::var_os(CREDENTIAL))
}

fn named(path: Option<OsString>) -> Result<PathBuf, ConnectError> {
    path.filter(|path| !path.is_empty()).map(Into::into).ok_or(ConnectError::NotNamed)
}

/// Connects as whom the credential in the file at `path` says, to the broker that its URL leads to:
/// `tls://` and `nats://` to NATS, `amqps://` to RabbitMQ, `mem:` to a mesh of this process
/// ([`InMemoryMesh::listen`](mesh_transport_mem::InMemoryMesh::listen)). Each needs its feature: `nats`,
/// `amqp`, `memory`.
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
        #[cfg(feature = "memory")]
        BrokerUrl::Memory { .. } => mesh_transport_mem::connect(&credential)?,
        #[cfg(feature = "nats")]
        BrokerUrl::Nats { .. } => {
            use mesh_transport_nats::{NatsOptions, Source, connect};
            connect(Source::file(path), NatsOptions::default()).await?
        }
        #[cfg(feature = "amqp")]
        BrokerUrl::Amqps { .. } => {
            use mesh_transport_amqp::{AmqpOptions, Source, connect};
            connect(Source::file(path), AmqpOptions::default()).await?
        }
        other => return Err(left_out(other)),
    };
    for Overruled { variable, says, is } in overruled(connection.principal(), std::env::var_os) {
        tracing::warn!(variable, ?says, is, "the environment names another than the credential");
    }
    Ok(connection)
}

/// What is said of a URL whose adapter was not built in.
fn left_out(url: &BrokerUrl) -> ConnectError {
    let (scheme, feature) = match url {
        BrokerUrl::Memory { .. } => ("mem:", "memory"),
        BrokerUrl::Nats { .. } => ("tls://", "nats"),
        BrokerUrl::Amqps { .. } => ("amqps://", "amqp"),
        _ => return TransportError::new(ErrorKind::Unsupported, Operation::Connect).into(),
    };
    ConnectError::NoAdapter { scheme, feature }
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
    fn a_path_that_is_not_set_or_empty_is_asked_for() {
        assert_eq!(named(Some("mail.json".into())).unwrap(), Path::new("mail.json"));
        for nothing in [None, Some(OsString::new())] {
            let error = named(nothing).unwrap_err().to_string();
            assert!(error.starts_with("MESH_CREDENTIAL is not set"), "{error}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn what_is_no_file_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("mail.json");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let refused = async |path: &Path| {
            let (path, runtime) = (path.to_owned(), tokio::runtime::Handle::current());
            let connecting = tokio::task::spawn_blocking(move || runtime.block_on(connect(path)));
            match tokio::time::timeout(std::time::Duration::from_secs(30), connecting).await {
                Ok(refused) => refused.unwrap().unwrap_err().to_string(),
                // The runtime would wait for who reads.
                Err(_) => std::process::abort(),
            }
        };
        for path in [&*pipe, folder.path()] {
            let error = refused(path).await;
            assert!(error.contains(path.to_str().unwrap()), "{error}");
            assert!(error.contains("the credential can't be read"), "{error}");
        }
    }

    #[test]
    fn an_adapter_that_was_left_out_is_named_by_its_feature() {
        for (url, told) in [
            ("mem:shop", "mem:, so mesh-sdk has to be built with its feature `memory`"),
            ("nats://u:s3cr3t@h", "tls://, so mesh-sdk has to be built with its feature `nats`"),
            ("amqps://u:s3cr3t@h", "amqps://, so mesh-sdk has to be built with its feature `amqp`"),
        ] {
            let error = left_out(&url.parse().unwrap()).to_string();
            assert_eq!(error, format!("the credential leads to {told}"));
        }
    }

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
            found.map(|one| format!("{} is {}", one.variable, one.is)).collect::<Vec<_>>()
        };
        assert_eq!(found(Some("n1"), Some("mail")), <[&str; 0]>::default());
        assert_eq!(found(None, None), <[&str; 0]>::default());
        assert_eq!(found(Some("n2"), None), ["MESH_NODE is n1"]);
        assert_eq!(found(Some(""), Some("vault")), ["MESH_NODE is n1", "MESH_MODULE is mail"]);
    }
}
