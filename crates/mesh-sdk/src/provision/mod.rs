#![doc = include_str!("README.md")]

mod asking;
mod consumer;
mod desk;
mod error;
mod folder;
mod provider;
mod shape;
mod store;

#[cfg(test)]
mod tests;

pub use asking::Provisioning;
pub use consumer::{PROVISIONS_VARIABLE, Provisions};
pub use error::{AskError, NoProvisions, ProvideError, RequiredError};
pub use folder::{remove, write};
pub use provider::{Provider, Provisioner, Wanted};
pub use shape::ShapeError;
pub use store::{GrantStore, MemoryGrants};
