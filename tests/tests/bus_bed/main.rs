//! A mesh's bus on real servers: raised from nothing, looked at, mended, and taken over.
#![expect(unreachable_pub, reason = "a test")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod amqp;
mod bed;
mod documented;
mod drift;
mod faulty;
mod genesis;
mod ground;
mod provocations;
mod raise;
mod standing;
mod status;
mod strangers;

use std::future::Future;
use std::time::Duration;

/// How long one thing may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `future` gives, if it does so in time.
async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("not in time")
}
