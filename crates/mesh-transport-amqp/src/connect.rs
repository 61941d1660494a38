//! The way in.

use std::sync::Arc;

use futures_util::FutureExt;
use mesh_core::identity::Principal;
use mesh_core::port::{Capabilities, Capability, Connection, TransportError};

use crate::administration::Admin;
use crate::link::{self, Link};
use crate::port::{Owner, Port};
use crate::session::Session;
use crate::supervise::supervise;
use crate::{AmqpOptions, Target};

/// What a connection to RabbitMQ guarantees. It knows no message again, numbers none, gives no claim away
/// while its holder is connected, and lets whoever may answer anything answer everything.
const CAPABILITIES: [Capability; 9] = [
    Capability::Wildcards,
    Capability::QueueGroups,
    Capability::ReceiverCheck,
    Capability::Requests,
    Capability::DurableConsumers,
    Capability::NewestPerSubject,
    Capability::DelayedNak,
    Capability::DeadLetters,
    Capability::Permissions,
];

/// Where to connect, asked anew for each attempt, so that a credential whose file was replaced is the one
/// that is used when the connection is next lost.
///
/// ```no_run
/// # async fn mail() -> Result<(), Box<dyn std::error::Error>> {
/// use mesh_transport_amqp::{AmqpOptions, Source, connect};
///
/// let mail = connect(Source::file("/etc/mesh/mail.json"), AmqpOptions::default()).await?;
/// # Ok(())
/// # }
/// ```
pub type Source = mesh_session::Source<Target>;

/// Connects, once. A connection that is lost afterwards is made again, until it is closed.
///
/// Must be called in a tokio runtime with its timer and I/O, which the connection goes on using.
///
/// # Errors
/// `Denied` for another certificate than the pinned or a refused log-in, `NotFound` for an unknown virtual
/// host, `TimedOut`, `Disconnected`, `Invalid` for options or a target without sense.
pub async fn connect(
    source: impl Into<Source>,
    options: AmqpOptions,
) -> Result<Connection, TransportError> {
    let source = source.into();
    let target = source.read()?;
    let principal = target.principal().clone();
    // Boxed: whoever awaits this need not carry the client library's types in their own future's.
    let session = Session::open(1, &target, &options).boxed().await?;
    let capabilities = Capabilities::new(link::limits(&session), CAPABILITIES);
    let first = Arc::clone(&session);
    let link = Link::new(principal.clone(), options, capabilities, first);
    tokio::spawn(supervise(Arc::clone(&link), source, session));
    let clock = Arc::clone(&link.clock);
    let port = Arc::new(Port { owner: Owner::new(link) });
    let connection = Connection::new(principal.clone(), clock, Arc::clone(&port) as _)
        .with_system("rabbitmq")
        .with_streams(Arc::clone(&port) as _)
        .with_requests(Arc::clone(&port) as _);
    Ok(match principal {
        Principal::Controller { .. } => {
            let owner = Arc::clone(&port.owner);
            connection.with_administration(Arc::new(Admin { owner }))
        }
        _ => connection,
    })
}

#[cfg(test)]
mod tests {
    use mesh_core::credential::MAX_DOCUMENT_BYTES;
    use mesh_core::port::ErrorKind;
    use std::time::Duration;

    use mesh_core::port::{AppendOptions, ConnectionState};

    use super::*;
    use crate::testing::{Bed, message};

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
                r#"{{"url": "amqps://u:s3cr3t@{host}/v", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#
            )
        };
        for host in ["one.example", "two.example"] {
            std::fs::write(&path, document(host)).unwrap();
            let shown = format!("amqps://{host}:5671 (virtual host \"v\")");
            assert_eq!(source.read().unwrap().to_string(), shown);
        }
        std::fs::write(&path, document("h").replace("amqps:", "tls:").replace("/v", "")).unwrap();
        wrong("not amqps://");
        std::fs::write(&path, &document("h")[..40]).unwrap();
        wrong("the credential can't be read");
        std::fs::write(&path, " ".repeat(MAX_DOCUMENT_BYTES) + &document("h")).unwrap();
        wrong("bytes long");
    }

    #[tokio::test]
    async fn a_connection_is_told_when_it_is_closed_and_does_nothing_more() {
        let bed = Bed::new().await;
        let connection = bed.connect("n1.mail").await;
        let mut states = connection.transport().states();
        assert!(states.next().await.unwrap().is_connected());
        assert_eq!(connection.transport().close(Duration::from_secs(5)).await.lost, 0);
        assert!(matches!(states.next().await, Some(ConnectionState::Closed)));
        assert!(states.next().await.is_none());
        let event = message("mesh.events.mail.sent", "{}");
        let refused = connection.streams().unwrap().append(event, AppendOptions::default()).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Closed);
    }
}
