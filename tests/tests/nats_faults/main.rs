//! The NATS adapter on real servers that fail: killed, cut off, slow, full of refusals, changed between
//! two connections. What happened is printed in numbers: `cargo test --test nats_faults -- --nocapture`.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod bed;
mod changes;
mod closing;
mod cluster;
mod denials;
mod gone;
mod kills;
mod sessions;
mod silent;
mod slow;
mod storm;
mod ways;
