#![doc = include_str!("../README.md")]

pub mod compose;
#[cfg(feature = "folder")]
pub mod folder;
pub mod perm;
#[cfg(all(feature = "secrets", unix))]
pub mod secrets;
#[cfg(any(feature = "folder", all(feature = "secrets", unix)))]
mod whole;
