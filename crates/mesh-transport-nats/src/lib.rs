//! NATS behind the ports of mesh.

#![cfg_attr(not(test), expect(dead_code, reason = "the connection that uses these comes next"))]

mod administration;
mod api;
mod api_error;
mod pub_ack;

pub use administration::StreamSettings;
