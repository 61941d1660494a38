//! The way in.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
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
    // Boxed: whoever awaits this need not carry the client library's types in their own future's.
    let session = Session::open(1, &target, &options).boxed().await?;
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
    use std::time::Duration;

    use mesh_core::port::{AppendOptions, ConnectionState};

    use super::*;
    use crate::testing::{Bed, message};

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
