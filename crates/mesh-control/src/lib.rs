#![doc = include_str!("../README.md")]

#[cfg(feature = "folder")]
pub mod folder;
#[cfg(all(feature = "secrets", unix))]
pub mod secrets;
#[cfg(any(feature = "folder", all(feature = "secrets", unix)))]
mod whole;
