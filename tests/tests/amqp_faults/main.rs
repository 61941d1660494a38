//! The AMQP adapter on real brokers that fail: killed, cut off, silent, out of memory, with users that go
//! and come. What happened is printed in numbers: `cargo test --test amqp_faults -- --nocapture`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]
#![allow(clippy::print_stdout, reason = "what happened is told in numbers")]
#![allow(clippy::future_not_send, reason = "looks of a test stay on its task")]

mod bed;
mod blocked;
mod closing;
mod health;
mod kills;
mod live;
mod publishing;
mod runtimes;
mod sessions;
mod verdicts;
