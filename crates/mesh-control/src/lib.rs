#![doc = include_str!("../README.md")]

pub mod compose;
#[cfg(feature = "folder")]
pub mod conf;
#[cfg(feature = "folder")]
pub mod folder;
#[cfg(feature = "folder")]
mod whole;
