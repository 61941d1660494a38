//! The way in.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::port::{Capabilities, Capability, Connection, ErrorKind, Operation, TransportError};

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
#[derive(Clone)]
pub struct Source(Arc<dyn Fn() -> Result<Target, TransportError> + Send + Sync>);

impl Source {
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
/// `Denied` for another certificate than the pinned or a refused log-in, `NotFound` for an unknown virtual
/// host, `TimedOut`, `Disconnected`, `Invalid` for options or a target without sense.
pub async fn connect(
    source: impl Into<Source>,
    options: AmqpOptions,
) -> Result<Connection, TransportError> {
    let source = source.into();
    let target = source.read()?;
    let principal = target.principal().clone();
    let session = Session::open(1, &target, &options).await?;
    let capabilities = Capabilities::new(link::limits(&session), CAPABILITIES);
    let first = Arc::clone(&session);
    let link = Link::new(principal.clone(), options, capabilities, first);
    tokio::spawn(supervise(Arc::clone(&link), source, session));
    let clock = Arc::clone(&link.clock);
    let port = Arc::new(Port { owner: Owner::new(link) });
    let connection = Connection::new(principal.clone(), clock, Arc::clone(&port) as _)
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

/// For [`Source::reread`]: the error of a credential that can't be read.
pub fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> TransportError {
    TransportError::new(ErrorKind::Invalid, Operation::Connect)
        .detail(format!("the credential can't be read: {error}"))
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    use mesh_core::credential::Credential;
    use mesh_core::message::Message;
    use mesh_core::port::AppendOptions;
    use mesh_core::subject::Subject;
    use mesh_testkit::servers::rabbit::{self, Account};

    use super::*;

    #[tokio::test]
    async fn a_pinned_broker_is_logged_in_to_and_closed() {
        let server = rabbit::shared().await.unwrap();
        let host = server.virtual_host().await.unwrap();
        host.account(&Account::new("n1.mail", "p@ss").all_rights()).await.unwrap();
        let document = format!(
            r#"{{"url": "{}", "fingerprint": "{}", "node": "n1", "module": "mail"}}"#,
            host.url_of("n1.mail", "p@ss"),
            server.fingerprint(),
        );
        let target = Target::of(&Credential::parse(document).unwrap()).unwrap();
        let connection = connect(target, AmqpOptions::default()).await.unwrap();
        let event = Message::new(Subject::new("mesh.events.mail.sent").unwrap(), "{}");
        let streams = connection.streams().unwrap();
        let refused = streams.append(event, AppendOptions::default()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound, "{refused}");
        assert_eq!(connection.transport().close(std::time::Duration::from_secs(5)).await.lost, 0);
    }
}
