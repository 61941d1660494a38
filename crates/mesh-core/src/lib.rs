#![doc = include_str!("../README.md")]

pub mod credential;
pub mod event;
pub mod identity;
pub mod json;
pub mod manifest;
pub mod name;
mod percent;
pub mod provision;
pub mod subject;
pub mod time;
