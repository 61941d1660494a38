#![doc = include_str!("../README.md")]

pub mod binding;
pub mod index;
pub mod name;
pub mod subject;
