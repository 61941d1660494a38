#![doc = include_str!("../README.md")]

pub mod json;
pub mod name;
mod percent;
pub mod subject;
pub mod time;
