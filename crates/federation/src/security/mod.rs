#![doc = include_str!("README.md")]

mod algorithm;
mod claims;
#[cfg(feature = "discovery")]
mod discovered;
mod generate;
mod guard;
mod keys;
mod lifetimes;
mod refused;
mod signer;
mod source;
mod token;

#[cfg(test)]
mod tests;

pub use algorithm::Algorithm;
#[cfg(feature = "discovery")]
pub use discovered::DiscoveredKeys;
pub use generate::{GenerateError, Generated, generate};
pub use guard::{MxSec, Required};
pub use keys::{Keys, KeysError};
pub use lifetimes::{Lifetimes, LifetimesError};
pub use refused::Refused;
pub use signer::{SealError, Signer, SignerError};
pub use source::{KeySource, KeysUnavailable, StaticKeys};
