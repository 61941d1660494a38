#![doc = include_str!("../README.md")]

pub mod guard;
pub mod identity;
pub mod message;
pub mod name;
pub mod port;
pub mod subject;
pub mod time;
pub mod topology;
