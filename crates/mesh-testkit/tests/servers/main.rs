//! The private servers, tried on the real program.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod certificate;
mod nats_cluster;
mod nats_config;
mod nats_fake;
mod nats_layout;
mod nats_life;
mod nats_raw;
mod proxy;
mod rabbit_amqp;
mod rabbit_hosts;
mod rabbit_life;
