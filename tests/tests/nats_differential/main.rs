//! Random steps on the durable broker in the process and on a real nats-server look the same.
//!
//! A failure names the seed of its run; `PROPTEST_RNG_SEED` takes it, and `PROPTEST_CASES` asks for more
//! runs than usual.
#![expect(unreachable_pub, reason = "a test")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod hasty;
#[path = "../support/memory.rs"]
#[allow(dead_code, reason = "other tests use the other beds")]
mod memory;
#[path = "../support/nats.rs"]
#[allow(dead_code, reason = "other tests use the other layout")]
mod nats;
mod runs;

use mesh_testkit::differential::{compare, compare_live};
use mesh_testkit::strategies::{lapsing_steps, live_steps, steps};

use memory::Durable;
use nats::Nats;
use runs::Runs;

#[test]
fn streams_and_consumers_look_the_same() {
    Runs { cases: 48, at_once: 4 }.of(
        || steps(25),
        |steps, on| {
            on.block_on(compare(&hasty::Hasty(Durable), &hasty::Hasty(Nats::OneAccount), steps))
        },
    );
}

#[test]
fn claims_that_run_out_look_the_same() {
    Runs { cases: 12, at_once: 4 }.of(
        || lapsing_steps(16),
        |steps, on| {
            on.block_on(compare(&hasty::Hasty(Durable), &hasty::Hasty(Nats::OneAccount), steps))
        },
    );
}

#[test]
fn live_messages_and_requests_look_the_same() {
    Runs { cases: 48, at_once: 4 }.of(
        || live_steps(25),
        |steps, on| {
            on.block_on(compare_live(
                &hasty::Hasty(Durable),
                &hasty::Hasty(Nats::OneAccount),
                steps,
            ))
        },
    );
}
