#![doc = include_str!("README.md")]

mod administration;
mod capabilities;
mod clock;
mod connection;
mod delivery;
mod error;
mod incoming;
mod options;
mod requests;
mod state;
mod streams;
mod transport;

#[cfg(test)]
mod tests;

pub use administration::{
    Administration, ConsumerState, Drift, DriftMode, Held, Position, Stored, StreamState,
};
pub use capabilities::{Capabilities, Capability, Limits};
pub use clock::Clock;
pub use connection::Connection;
pub use delivery::{Delivery, DeliveryInfo, Reason, Settlement, Verdict};
pub use error::{ErrorKind, Operation, TransportError};
pub use incoming::{Incoming, ReceiveError, RefusalReason};
pub use options::{
    AppendOptions, ConsumeOptions, PublishOptions, QueueGroup, ServeOptions, SubscribeOptions,
};
pub use requests::{Answer, Call, Calls, Requests};
pub use state::{CloseReport, ConnectionState, ConnectionStates};
pub use streams::{Appended, Deliveries, Streams};
pub use transport::{Subscription, Transport};
