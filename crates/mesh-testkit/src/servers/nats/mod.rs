//! A private nats-server of its own for each test, and what speaks to it or in its place.

mod cluster;
mod config;
mod fake;
mod layout;
mod mesh_server;
mod message;
mod monitor;
mod place;
mod program;
mod raw;
mod reload;
mod server;
mod wire;

pub use cluster::Cluster;
pub use config::{HandshakeFirst, NatsConfig};
pub use fake::{FakeConfig, FakeNats, Heard};
pub use layout::{Account, Layout, User};
pub use mesh_server::MeshServer;
pub use message::RawMessage;
pub use place::Place;
pub use program::find as find_program;
pub use raw::{RawNats, Settled};
pub use server::NatsServer;
