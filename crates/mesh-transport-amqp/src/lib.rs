#![doc = include_str!("../README.md")]

mod administration;
mod append;
mod close;
mod connect;
mod consume;
mod convert;
mod correlation;
mod counters;
mod dial;
mod error;
mod fate;
mod kept;
mod link;
mod live;
mod options;
mod port;
mod publish;
mod requests;
mod session;
mod supervise;
mod target;
#[cfg(test)]
mod testing;
mod wire;

pub use connect::{Source, connect};
pub use mesh_session::unreadable;
pub use options::{AmqpOptions, OptionsError};
pub use target::{Target, TargetError};
