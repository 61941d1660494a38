#![cfg_attr(feature = "suite", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "suite"),
    doc = "Private real servers, without the rest of the test kit."
)]

#[cfg(feature = "suite")]
mod cases;
#[cfg(feature = "suite")]
pub mod clock;
#[cfg(feature = "suite")]
pub mod differential;
#[cfg(feature = "suite")]
pub mod expect;
#[cfg(feature = "suite")]
pub mod fixtures;
#[cfg(feature = "suite")]
pub mod model;
#[cfg(all(unix, feature = "servers"))]
pub mod servers;
#[cfg(feature = "suite")]
pub mod state;
#[cfg(feature = "suite")]
pub mod strategies;
#[cfg(feature = "suite")]
pub mod suite;
