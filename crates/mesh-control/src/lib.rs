#![doc = include_str!("../README.md")]

#[cfg(feature = "folder")]
pub mod folder;
#[cfg(feature = "genesis")]
pub mod genesis;
#[cfg(feature = "folder")]
mod whole;
