//! The way in.

use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::port::{Capabilities, Capability, Connection, TransportError};
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
///
/// ```no_run
/// # async fn mail() -> Result<(), Box<dyn std::error::Error>> {
/// use mesh_transport_nats::{NatsOptions, Source, connect};
///
/// let mail = connect(Source::file("/etc/mesh/mail.json"), NatsOptions::default()).await?;
/// # Ok(())
/// # }
/// ```
pub type Source = mesh_session::Source<Target>;

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
    let streams = options.streams.clone();
    let Dialled { owner, version: (major, minor, patch) } = dial(source.into(), options).await?;
    let link = owner.link();
    let (principal, clock) = (link.principal.clone(), Arc::clone(&link.clock));
    let port = Arc::new(Port { owner });
    let connection = Connection::new(principal.clone(), clock, Arc::clone(&port) as _)
        .with_system("nats")
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

/// A connection that stands, with its supervisor.
pub(crate) struct Dialled {
    pub(crate) owner: Arc<Owner>,
    /// The server's.
    pub(crate) version: (u64, u64, u64),
}

/// Connects, and has the connection made again when it is lost.
pub(crate) async fn dial(source: Source, options: NatsOptions) -> Result<Dialled, TransportError> {
    let target = source.read()?;
    let principal = target.principal().clone();
    let counters = Counters::default();
    let inbox = Inbox::of(&principal);
    let session = Session::open(1, &target, &options, &inbox, &counters).await?;
    let capabilities = Capabilities::new(link::limits(session.server.max_payload), CAPABILITIES);
    let version = session.server.version;
    let first = Arc::clone(&session);
    let link = Link::new(principal, options, capabilities, counters, first);
    tokio::spawn(supervise(Arc::clone(&link), source, session));
    Ok(Dialled { owner: Owner::new(link), version })
}

#[cfg(test)]
mod tests {
    use mesh_core::credential::MAX_DOCUMENT_BYTES;
    use mesh_core::manifest::{Mesh, ModuleManifest};
    use mesh_core::port::ErrorKind;
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
