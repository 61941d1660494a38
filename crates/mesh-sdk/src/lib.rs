#![doc = include_str!("../README.md")]

mod binding;
mod broker;
mod causation;
mod claim;
mod close;
#[cfg(any(feature = "memory", feature = "nats", feature = "amqp"))]
mod connect;
mod counter;
mod dispatch;
mod error;
mod event;
mod handled;
mod handlers;
mod health;
mod ids;
mod in_hand;
mod lanes;
mod limit;
mod marks;
mod observe;
mod panics;
mod pauses;
mod places;
pub mod provision;
mod publish;
mod reading;
mod received;
mod rejected;
mod request;
mod reserved;
mod retry;
mod scope;
mod serve;
mod subscribe;
mod subscription;
mod tool;
mod workers;

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/observability.md")]
struct Observability;

pub use binding::Binding;
pub use broker::{Broker, BrokerBuilder};
pub use close::Closed;
#[cfg(any(feature = "memory", feature = "nats", feature = "amqp"))]
pub use connect::{ConnectError, connect, credential_path};
pub use error::{BuildError, HandleError, PublishError, RequestError, SubscribeError};
pub use event::{HandlerError, ReceivedEvent};
pub use handled::MemoryHandled;
pub use health::Health;
pub use observe::{Propagator, describe_metrics};
pub use publish::{Emission, Published};
pub use request::ToolRequest;
pub use retry::RetryPolicy;
pub use scope::{Asking, Events, Has, Scope, Tools, Whole};
pub use subscription::Subscription;
pub use tool::ToolCall;

/// The crate `mesh-core`, whose types the verbs take and give, for who depends on this crate alone.
pub use mesh_core as core;

/// The crate `mesh-transport-mem`, with the feature `memory`.
#[cfg(feature = "memory")]
pub use mesh_transport_mem as memory;

/// The crate `mesh-transport-nats`, with the feature `nats`.
#[cfg(feature = "nats")]
pub use mesh_transport_nats as nats;

/// The crate `mesh-transport-amqp`, with the feature `amqp`.
#[cfg(feature = "amqp")]
pub use mesh_transport_amqp as amqp;

/// The crate `mesh-store`, with the feature `store`.
#[cfg(feature = "store")]
pub use mesh_store as store;
