#![doc = include_str!("../README.md")]

mod config;
mod refusal;
mod verifier;

#[cfg(test)]
mod tests;

pub use config::{Pinned, TlsError, client_config};
pub use refusal::{Refusal, Refusals};
pub use verifier::PinnedVerifier;
