//! The NATS adapter on real servers that fail: killed, cut off, slow, full of refusals, changed between
//! two connections. What happened is printed in numbers: `cargo test --test nats_faults -- --nocapture`.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod bed;
mod kills;
