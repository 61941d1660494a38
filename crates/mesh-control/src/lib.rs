#![doc = include_str!("../README.md")]

#[cfg(feature = "folder")]
pub mod conf;
#[cfg(feature = "folder")]
pub mod folder;
#[cfg(all(feature = "supervisor", unix))]
pub mod supervisor;
mod version;
#[cfg(feature = "folder")]
mod whole;

pub use version::Version;
