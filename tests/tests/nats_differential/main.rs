//! Random steps on the durable broker in the process and on a real nats-server look the same.
//!
//! The usual runs are the same each time. `PROPTEST_RNG_SEED` asks for others, `PROPTEST_CASES` for more;
//! a failure names the seed of its run.
#![expect(unreachable_pub, reason = "a test")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

#[path = "../support/memory.rs"]
#[allow(dead_code, reason = "other tests use the other beds")]
mod memory;
mod mutated;
#[path = "../support/nats.rs"]
mod nats;
mod runs;

use mesh_testkit::differential::{compare, compare_live};
use mesh_testkit::strategies::{lapsing_steps, live_steps, steps};

use memory::Durable;
use mutated::{Mutated, Wrong};
use nats::Nats;
use runs::Runs;

#[test]
fn streams_and_consumers_look_the_same() {
    let runs = Runs { cases: 80, at_once: 4 };
    runs.pass(|| steps(25), async |steps| compare(&Durable, &Nats::OneAccount, steps).await);
}

#[test]
fn streams_and_consumers_of_another_account_look_the_same() {
    let runs = Runs { cases: 40, at_once: 4 };
    runs.pass(|| steps(25), async |steps| compare(&Durable, &Nats::Split, steps).await);
}

#[test]
fn claims_that_run_out_look_the_same() {
    let runs = Runs { cases: 12, at_once: 4 };
    runs.pass(
        || lapsing_steps(16),
        async |steps| compare(&Durable, &Nats::OneAccount, steps).await,
    );
}

#[test]
fn live_messages_and_requests_look_the_same() {
    let runs = Runs { cases: 80, at_once: 4 };
    runs.pass(
        || live_steps(25),
        async |steps| compare_live(&Durable, &Nats::OneAccount, steps).await,
    );
}

/// What is done wrong is noticed, and in which words.
#[test]
fn what_one_does_wrong_with_consumers_is_noticed() {
    for (wrong, words) in [
        (Wrong::SwallowsNaks, &["given of", "never came again"][..]),
        (Wrong::CountsOneTryTooMany, &["try 2 of"]),
        (Wrong::AcksWhatIsTerminated, &["dead letters"]),
        (Wrong::CallsARepeatNew, &["known already"]),
    ] {
        let (honest, broken) = Mutated::pair(Durable, Nats::OneAccount, wrong);
        let runs = Runs { cases: 400, at_once: 1 };
        runs.notice(words, || steps(25), &async |steps| compare(&honest, &broken, steps).await);
    }
}

#[test]
fn what_one_does_wrong_live_is_noticed() {
    for (wrong, words) in [
        (Wrong::IgnoresGroups, &["heard of the group"][..]),
        (Wrong::AsksNobody, &["nobody receives there"]),
        (Wrong::StripsAnswers, &["X-Answer"]),
    ] {
        let (honest, broken) = Mutated::pair(Durable, Nats::OneAccount, wrong);
        let runs = Runs { cases: 400, at_once: 1 };
        runs.notice(words, || live_steps(25), &async |steps| {
            compare_live(&honest, &broken, steps).await
        });
    }
}
