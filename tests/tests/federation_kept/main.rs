//! Leases and sessions in the stores that outlive a gateway: the buckets of a real nats-server, which two
//! gateways share, and a file. Gateways and servers are killed and come back.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]
#![expect(unreachable_pub, reason = "a test")]

mod file;
mod place;
mod shared;
mod world;
