//! A private nats-server of its own for each test.

mod config;
mod monitor;
mod place;
mod program;
mod reload;
mod server;
mod version;

pub use config::{HandshakeFirst, NatsConfig};
pub use place::Place;
pub use server::NatsServer;
