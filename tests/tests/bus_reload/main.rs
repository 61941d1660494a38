//! A supervised nats-server: a change of its composed file is live without a restart, however the file was
//! written; a bad one never reaches it; and nothing is lost meanwhile.
#![expect(unreachable_pub, reason = "a test")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod bed;
mod cost;
mod files;
mod live;
mod load;
mod people;
mod refused;
mod starts;
