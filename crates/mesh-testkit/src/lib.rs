#![doc = include_str!("../README.md")]

mod cases;
pub mod clock;
pub mod expect;
pub mod fixtures;
pub mod model;
pub mod strategies;
pub mod suite;
