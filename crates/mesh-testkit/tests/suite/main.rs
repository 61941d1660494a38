//! The suite, the model and the strategies tried on a small reference broker, honest and broken.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod breaches;
mod clock;
mod coverage;
mod differential;
mod expect;
mod honest;
mod model;
mod reference;
mod state;
mod strategies;
