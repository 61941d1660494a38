#![doc = include_str!("README.md")]

mod certificate;
mod error;
mod http;
mod members;
pub mod nats;
mod port;
mod process;
mod proxy;
pub mod rabbit;
mod tls;

pub use certificate::{Certificate, Validity};
pub use error::ServerError;
pub use port::Port;
pub use proxy::{Direction, Proxy, Traffic};
