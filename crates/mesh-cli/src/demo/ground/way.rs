//! The ways to a broker that runs, one for each kind of it.

use std::fmt;
use std::time::Duration;

use mesh_core::credential::Credential;
use mesh_core::port::{Connection, TransportError};

/// How long a broker may take to let one in: it is on this machine, or somebody waits for it.
pub(super) const CONNECT: Duration = Duration::from_secs(5);

/// What kind of broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A nats-server.
    Nats,
    /// RabbitMQ.
    Amqp,
}

/// Where it is, as whom, and whom to trust there.
#[derive(Debug, Clone)]
pub(super) enum Way {
    Nats(mesh_transport_nats::Target),
    Amqp(mesh_transport_amqp::Target),
}

/// Why a credential leads to no broker of its kind.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum WayError {
    #[error(transparent)]
    Nats(#[from] mesh_transport_nats::TargetError),
    #[error(transparent)]
    Amqp(#[from] mesh_transport_amqp::TargetError),
}

impl Way {
    pub(super) fn of(kind: Kind, credential: &Credential) -> Result<Self, WayError> {
        Ok(match kind {
            Kind::Nats => Self::Nats(mesh_transport_nats::Target::of(credential)?),
            Kind::Amqp => Self::Amqp(mesh_transport_amqp::Target::of(credential)?),
        })
    }

    /// Connects, once.
    pub(super) async fn dial(self) -> Result<Connection, TransportError> {
        match self {
            Self::Nats(target) => {
                let options = mesh_transport_nats::NatsOptions {
                    connect_timeout: CONNECT,
                    ..Default::default()
                };
                mesh_transport_nats::connect(target, options).await
            }
            Self::Amqp(target) => {
                let options = mesh_transport_amqp::AmqpOptions {
                    connect_timeout: CONNECT,
                    ..Default::default()
                };
                mesh_transport_amqp::connect(target, options).await
            }
        }
    }
}

/// The address.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nats(target) => target.fmt(f),
            Self::Amqp(target) => target.fmt(f),
        }
    }
}
