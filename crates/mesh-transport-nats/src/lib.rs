#![doc = include_str!("../README.md")]

mod administration;
mod api;
mod append;
mod close;
mod connect;
mod consume;
mod convert;
mod dial;
mod error;
mod events;
mod link;
mod live;
mod options;
mod pending;
mod port;
mod publish;
mod queue;
mod request;
mod session;
mod supervise;

pub use connect::{CredentialSource, connect, connect_insecure_loopback};
pub use options::{NatsOptions, OptionsError};
