#![doc = include_str!("../README.md")]

mod absence;
mod address;
mod administration;
mod answer;
mod api;
mod api_error;
mod append;
mod close;
mod connect;
mod consume;
mod convert;
mod counters;
mod dead_letters;
mod dial;
mod error;
mod events;
mod hearing;
mod link;
mod live;
mod options;
mod outlet;
mod pending;
mod port;
mod probe;
mod pub_ack;
mod publish;
mod request;
mod session;
mod supervise;
mod target;

pub use administration::StreamSettings;
pub use connect::{Source, connect};
pub use dead_letters::DeadLetterKeeper;
pub use mesh_session::unreadable;
pub use options::{NatsOptions, OptionsError};
pub use target::{Target, TargetError};
