//! A second, independent reader of both wires: a small Python program, written from `docs/protocol.md` alone,
//! is a foreign realm on a real nats-server, and the author of golden captures.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod captures;
mod foreign;
mod python;
mod talk;
