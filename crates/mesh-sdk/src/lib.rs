#![doc = include_str!("../README.md")]

mod broker;
mod causation;
mod close;
mod dispatch;
mod error;
mod event;
mod handled;
mod ids;
mod in_hand;
mod publish;
mod request;
mod retry;
mod serve;
mod subscribe;
mod tool;
mod workers;

#[cfg(test)]
mod tests;

pub use broker::{Broker, BrokerBuilder};
pub use close::Closed;
pub use error::{HandleError, NotAModule, PublishError, RequestError, SubscribeError};
pub use event::{HandlerError, ReceivedEvent};
pub use handled::{Handled, HandledKey, HandledStore, MemoryHandled};
pub use publish::{Emission, Published};
pub use request::ToolRequest;
pub use retry::RetryPolicy;
pub use tool::ToolCall;
