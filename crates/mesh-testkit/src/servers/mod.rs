#![doc = include_str!("README.md")]

mod certificate;
mod error;
mod http;
pub mod nats;
mod port;
mod process;

pub use certificate::{Certificate, Validity};
pub use error::ServerError;
