#![doc = include_str!("../README.md")]

pub mod dead_letter;
pub mod identity;
pub mod message;
pub mod name;
pub mod permissions;
pub mod port;
pub mod subject;
pub mod time;
pub mod topology;
