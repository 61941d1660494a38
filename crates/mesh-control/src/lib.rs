#![doc = include_str!("../README.md")]

pub mod compose;
#[cfg(feature = "folder")]
pub mod conf;
#[cfg(feature = "folder")]
pub mod folder;
pub mod perm;
#[cfg(all(feature = "secrets", unix))]
pub mod secrets;
#[cfg(all(feature = "supervisor", unix))]
pub mod supervisor;
mod version;
#[cfg(any(feature = "folder", all(feature = "secrets", unix)))]
mod whole;

pub use version::Version;
