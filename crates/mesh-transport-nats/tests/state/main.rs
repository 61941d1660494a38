//! Shared state on a real nats-server: the contract of the port, what another realm's gateway can do to it,
//! and what happens when the server goes.
#![expect(unreachable_pub, reason = "a test")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps tests is a test")]

mod attacks;
mod bed;
mod faults;
mod seats;
mod settings;

use mesh_testkit::state;

use bed::Nats;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_on_a_real_server_keeps_the_contract() {
    let report = state::run(&Nats).await;
    report.assert();
    assert_eq!(report.summary(), "25 passed, 0 refused as undeclared, 0 skipped, 0 failed");
}
