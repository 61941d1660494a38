#![doc = include_str!("../README.md")]

#[cfg(feature = "folder")]
pub mod folder;
#[cfg(feature = "folder")]
mod whole;
