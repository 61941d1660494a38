#![doc = include_str!("../README.md")]

pub mod binding;
pub mod credential;
pub mod dead_letter;
pub mod event;
pub mod guard;
pub mod identity;
pub mod index;
pub mod json;
pub mod manifest;
pub mod message;
pub mod mx;
pub mod name;
mod percent;
pub mod permissions;
pub mod port;
pub mod provision;
pub mod store;
pub mod subject;
pub mod text;
pub mod time;
pub mod tool;
pub mod topology;
