#![doc = include_str!("../README.md")]

mod access;
mod broker;
mod bury;
mod durable;
mod exact;
mod filter;
mod link;
mod listen;
mod live;
mod mesh;
mod pending;
mod port;
mod replies;
mod space;
mod statistics;
mod status;
mod stream;
mod timer;
mod users;

#[cfg(test)]
mod tests;

pub use durable::{InMemoryDurableBroker, InMemoryDurableBrokerBuilder};
pub use exact::InMemoryExactBroker;
pub use filter::InMemoryFilterBroker;
pub use listen::{Listening, NameTaken, connect};
pub use mesh::InMemoryMesh;
pub use statistics::Statistics;
pub use users::User;
