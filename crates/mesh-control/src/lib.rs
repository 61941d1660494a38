#![doc = include_str!("../README.md")]

#[cfg(all(feature = "supervisor", unix))]
pub mod adoption;
pub mod compose;
#[cfg(feature = "folder")]
pub mod conf;
#[cfg(feature = "folder")]
pub mod folder;
#[cfg(feature = "genesis")]
pub mod genesis;
pub mod perm;
#[cfg(all(feature = "secrets", unix))]
pub mod secrets;
#[cfg(all(feature = "supervisor", unix))]
pub mod supervisor;
mod version;
#[cfg(any(feature = "folder", all(feature = "secrets", unix)))]
mod whole;

pub use version::Version;
