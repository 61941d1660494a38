//! A running mesh adopts its bus, as the program does it, on real servers: everybody stays on AMQP, and nothing is
//! routed to the bus yet.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]
#![allow(clippy::future_not_send, reason = "a test stays on its task")]

mod beside;
mod files;
mod into;
mod traffic;
