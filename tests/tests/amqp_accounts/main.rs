//! The accounts of a bus as it is today (protocol §7): each does what its rows say, on queues that were
//! declared for it, and nothing else; what is refused is told on the very call and harms nobody.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]
#![allow(clippy::future_not_send, reason = "looks of a test stay on its task")]
#![expect(unreachable_pub, reason = "a test")]

mod allowed;
mod bed;
mod exact;
mod refused;
#[path = "../support/amqp/target.rs"]
mod target;
