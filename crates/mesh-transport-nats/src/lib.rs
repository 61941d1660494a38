//! NATS behind the ports of mesh.

#![cfg_attr(not(test), expect(dead_code, reason = "the connection that dials comes next"))]

mod dial;
mod error;
mod events;
mod options;
mod target;

pub use options::{NatsOptions, OptionsError};
pub use target::{Target, TargetError};
