#![doc = include_str!("../README.md")]

mod binding;
mod broker;
mod causation;
mod claim;
mod close;
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
mod publish;
mod reading;
mod received;
mod rejected;
mod request;
mod retry;
mod serve;
mod subscribe;
mod subscription;
mod tool;
mod turns;
mod workers;

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/observability.md")]
struct Observability;

pub use binding::Binding;
pub use broker::{Broker, BrokerBuilder};
pub use close::Closed;
pub use error::{BuildError, HandleError, NotAModule, PublishError, RequestError, SubscribeError};
pub use event::{HandlerError, ReceivedEvent};
pub use handled::MemoryHandled;
pub use health::Health;
pub use observe::{Propagator, describe_metrics};
pub use publish::{Emission, Published};
pub use request::ToolRequest;
pub use retry::RetryPolicy;
pub use subscription::Subscription;
pub use tool::ToolCall;
