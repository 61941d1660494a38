#![doc = include_str!("../README.md")]

pub mod json;
pub mod mx;
pub mod name;
pub mod subject;
