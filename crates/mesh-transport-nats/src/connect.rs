//! The way in.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mesh_core::credential::{Credential, MAX_DOCUMENT_BYTES};
use mesh_core::identity::Principal;
use mesh_core::port::{Capabilities, Capability, Connection, ErrorKind, Operation, TransportError};
use mesh_core::topology::Inbox;

use crate::administration::Admin;
use crate::counters::Counters;
use crate::link::{self, Link};
use crate::port::{LinkApi, Owner, Port};
use crate::session::Session;
use crate::supervise::supervise;
use crate::{NatsOptions, Target};

/// What a NATS connection guarantees: everything that the ports name.
const CAPABILITIES: [Capability; Capability::ALL.len()] = Capability::ALL;

/// Where to connect, asked anew for each attempt, so that a credential whose file was replaced is the one
/// that is used when the connection is next lost.
#[derive(Clone)]
pub struct Source(Arc<dyn Fn() -> Result<Target, TransportError> + Send + Sync>);

impl Source {
    /// Reads the credential in the file at `path` each time (protocol §5). One that takes its place must be
    /// the same principal's, and is best moved there whole: half a document is one that can't be read.
    ///
    /// ```no_run
    /// # async fn mail() -> Result<(), Box<dyn std::error::Error>> {
    /// use mesh_transport_nats::{NatsOptions, Source, connect};
    ///
    /// let mail = connect(Source::file("/etc/mesh/mail.json"), NatsOptions::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::reread(move || read_file(&path).map_err(|error| error.about(path.to_string_lossy())))
    }

    /// Asks `read` each time. It must be quick, and name the same principal each time.
    pub fn reread(
        read: impl Fn() -> Result<Target, TransportError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(read))
    }

    /// The target as it is now, if it is still that of `principal`.
    pub(crate) fn target(&self, principal: &Principal) -> Result<Target, TransportError> {
        let target = self.read()?;
        if target.principal() == principal {
            return Ok(target);
        }
        Err(TransportError::new(ErrorKind::Invalid, Operation::Connect).detail(format!(
            "the credential is now that of {}, not {principal}",
            target.principal()
        )))
    }

    /// The target as it is now. What reads it is a stranger's code: a panic there is an error like any
    /// other, and no end of reconnecting.
    fn read(&self) -> Result<Target, TransportError> {
        catch_unwind(AssertUnwindSafe(|| (self.0)())).unwrap_or_else(|_| {
            Err(TransportError::new(ErrorKind::Invalid, Operation::Connect)
                .detail("reading the credential panicked"))
        })
    }
}

fn read_file(path: &Path) -> Result<Target, TransportError> {
    let mut document = Vec::new();
    // One byte more, so that what is too long shows.
    let most = u64::try_from(MAX_DOCUMENT_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let file = File::open(path).map_err(unreadable)?;
    file.take(most).read_to_end(&mut document).map_err(unreadable)?;
    let credential = Credential::parse(document).map_err(unreadable)?;
    Ok(Target::of(&credential)?)
}

/// Always the same.
impl From<Target> for Source {
    fn from(target: Target) -> Self {
        Self(Arc::new(move || Ok(target.clone())))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}

/// Connects, once. A connection that is lost afterwards is made again, until it is closed.
///
/// Must be called in a tokio runtime with its timer and I/O, which the connection goes on using.
///
/// # Errors
/// `Denied` for another certificate than the pinned or a refused log-in, `TimedOut`, `Disconnected`,
/// `Unsupported` for a server that is too old, `Invalid` for options or a target without sense.
pub async fn connect(
    source: impl Into<Source>,
    options: NatsOptions,
) -> Result<Connection, TransportError> {
    let source = source.into();
    let streams = options.streams.clone();
    let target = source.read()?;
    let principal = target.principal().clone();
    let counters = Counters::default();
    let inbox = Inbox::of(&principal);
    let session = Session::open(1, &target, &options, &inbox, &counters).await?;
    let capabilities = Capabilities::new(link::limits(session.server.max_payload), CAPABILITIES);
    let (major, minor, patch) = session.server.version;
    let first = Arc::clone(&session);
    let link = Link::new(principal.clone(), options, capabilities, counters, first);
    tokio::spawn(supervise(Arc::clone(&link), source, session));
    let clock = Arc::clone(&link.clock);
    let port = Arc::new(Port { owner: Owner::new(link) });
    let connection = Connection::new(principal.clone(), clock, Arc::clone(&port) as _)
        .with_broker(format!("nats-server {major}.{minor}.{patch}"))
        .with_streams(Arc::clone(&port) as _)
        .with_requests(Arc::clone(&port) as _);
    Ok(match principal {
        Principal::Controller { .. } => {
            let api = LinkApi { owner: Arc::clone(&port.owner) };
            connection.with_administration(Arc::new(Admin::new(api, streams)))
        }
        _ => connection,
    })
}

/// For [`Source::reread`]: the error of a credential that can't be read.
pub fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> TransportError {
    TransportError::new(ErrorKind::Invalid, Operation::Connect)
        .detail(format!("the credential can't be read: {error}"))
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    use mesh_core::manifest::{Mesh, ModuleManifest};
    use mesh_testkit::servers::nats::{Layout, MeshServer};

    use super::*;

    #[tokio::test]
    async fn a_connection_says_which_server_it_reached_and_the_controllers_alone_administers() {
        let mail = ModuleManifest::parse("mail.toml", "name = 'mail'\nversion = '1'").unwrap();
        let mesh = Mesh::on_one_node(&"n1".parse().unwrap(), [mail]).unwrap();
        let server = MeshServer::launch(Layout::split(&mesh).unwrap()).await.unwrap();
        let varz = server.server().varz().await.unwrap();
        for (user, administers) in [("mail.n1", false), ("controller", true)] {
            let target = Target::of(&server.credential(user).unwrap()).unwrap();
            let connection = connect(target, NatsOptions::default()).await.unwrap();
            let version = varz["version"].as_str().unwrap();
            assert_eq!(connection.broker(), Some(format!("nats-server {version}").as_str()));
            let administration = connection.administration().err().map(|error| error.to_string());
            let refused = "assert: not supported by this transport \
                           (this is module mail on n1, and only the controller administers)";
            assert_eq!(administration.as_deref(), (!administers).then_some(refused), "{user}");
        }
    }

    #[test]
    fn a_file_is_read_each_time_and_what_is_wrong_with_it_is_said_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail.json");
        let source = Source::file(&path);
        let wrong = |what: &str| {
            let error = source.read().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert_eq!(error.subject(), Some(&*path.to_string_lossy()));
            let text = format!("{error} {error:?}");
            assert!(text.contains(what) && !text.contains("s3cr3t"), "{text}");
        };
        wrong("No such file");
        let document = |host: &str| {
            let pin = "ab".repeat(32);
            format!(
                r#"{{"url": "tls://u:s3cr3t@{host}", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#
            )
        };
        for host in ["one.example", "two.example"] {
            std::fs::write(&path, document(host)).unwrap();
            assert_eq!(source.read().unwrap().to_string(), format!("tls://{host}:4222"));
        }
        std::fs::write(&path, document("h").replace("tls:", "amqps:")).unwrap();
        wrong("neither tls:// nor nats://");
        std::fs::write(&path, &document("h")[..40]).unwrap();
        wrong("the credential can't be read");
        std::fs::write(&path, " ".repeat(MAX_DOCUMENT_BYTES) + &document("h")).unwrap();
        wrong("bytes long");
    }
}
