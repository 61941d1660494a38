#![doc = include_str!("../README.md")]

pub mod name;
pub mod subject;
