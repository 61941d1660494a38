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
mod limit;
mod marks;
mod pauses;
mod places;
pub mod provision;
mod publish;
mod reading;
mod received;
mod rejected;
mod request;
mod retry;
mod serve;
mod subscribe;
mod tool;
mod workers;

#[cfg(test)]
mod tests;

pub use binding::Binding;
pub use broker::{Broker, BrokerBuilder};
pub use close::Closed;
pub use error::{BuildError, HandleError, NotAModule, PublishError, RequestError, SubscribeError};
pub use event::{HandlerError, ReceivedEvent};
pub use handled::{Handled, HandledKey, HandledStore, MemoryHandled};
pub use health::Health;
pub use publish::{Emission, Published};
pub use request::ToolRequest;
pub use retry::RetryPolicy;
pub use tool::ToolCall;
