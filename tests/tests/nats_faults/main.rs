//! The NATS adapter on real servers that fail: killed, cut off, slow, full of refusals, changed between
//! two connections. What happened is printed in numbers: `cargo test --test nats_faults -- --nocapture`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]
#![allow(clippy::print_stdout, reason = "what happened is told in numbers")]
#![allow(clippy::future_not_send, reason = "looks of a test stay on its task")]

mod accounts;
mod answers;
mod bed;
mod changes;
mod closing;
mod cluster;
mod cuts;
mod denials;
mod dropped;
mod foreign;
mod gone;
mod health;
mod hostile;
mod kills;
mod meanwhile;
mod paused;
mod retiring;
mod sessions;
mod silent;
mod slow;
mod smuggled;
mod starved;
mod storm;
mod verdicts;
mod waiting;
mod ways;
