//! Properties of the core over whatever the strategies of `mesh-testkit` make, and the durable broker
//! in the process beside the model.
#![expect(unreachable_pub, reason = "a test")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod credentials;
mod damage;
mod events;
mod federation;
mod grants;
mod manifests;
#[path = "../support/memory.rs"]
#[allow(dead_code, reason = "other tests use the other beds")]
mod memory;
mod meshes;
mod model;
mod patterns;
mod provisioning;

use proptest::test_runner::Config;

/// So many cases, or more where `PROPTEST_CASES` asks for more; and no file of earlier failures: what
/// failed once becomes a test of its own.
fn cases(count: u32) -> Config {
    let usual = Config::default();
    Config { cases: usual.cases.max(count), failure_persistence: None, ..usual }
}
