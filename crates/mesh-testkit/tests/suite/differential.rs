//! The reference broker beside itself, honest and broken.

use std::fmt::Debug;

use mesh_core::port::Capability;
use mesh_testkit::differential::{self, Difference, compare, compare_live};
use mesh_testkit::strategies::{lapsing_steps, live_steps, steps};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tokio::runtime::{Builder, Runtime};

use crate::reference::Reference;

/// Time stands still but for what waits: patience costs nothing.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

fn judged(compared: Result<(), Difference>) -> Result<(), TestCaseError> {
    compared.map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(Config { cases: 300, failure_persistence: None, ..Config::default() })]

    #[test]
    fn an_honest_broker_looks_like_another(steps in steps(40)) {
        let (one, other) = (Reference::honest(), Reference::honest());
        judged(runtime().block_on(compare(&one, &other, &steps)))?;
    }

    #[test]
    fn its_claims_run_out_alike(steps in lapsing_steps(40)) {
        let (one, other) = (Reference::honest(), Reference::honest());
        judged(runtime().block_on(compare(&one, &other, &steps)))?;
    }

    #[test]
    fn its_live_messages_look_alike(steps in live_steps(40)) {
        let (one, other) = (Reference::honest(), Reference::honest());
        judged(runtime().block_on(compare_live(&one, &other, &steps)))?;
    }

    #[test]
    fn a_broker_that_promises_less_is_compared_in_what_it_promises(
        lacks in prop::sample::select(&Capability::ALL[..]),
        steps in steps(20),
        live in live_steps(20),
    ) {
        let (one, other) = (Reference::honest(), Reference::honest().without(lacks));
        if !differential::NEEDS.contains(&lacks) {
            judged(runtime().block_on(compare(&one, &other, &steps)))?;
        }
        judged(runtime().block_on(compare_live(&one, &other, &live)))?;
    }
}

#[test]
fn a_broker_in_real_time_is_waited_for() {
    let config = Config { cases: 8, failure_persistence: None, ..Config::default() };
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let result = TestRunner::new(config).run(&(steps(25), live_steps(25)), |(steps, live)| {
        let (one, other) = (Reference::honest(), Reference::honest().in_real_time());
        judged(runtime.block_on(compare(&one, &other, &steps)))?;
        judged(runtime.block_on(compare_live(&one, &other, &live)))
    });
    result.unwrap();
}

#[test]
fn brokers_that_lack_what_is_compared_are_refused() {
    for needed in differential::NEEDS {
        let (one, other) = (Reference::honest(), Reference::honest().without(needed));
        let difference = runtime().block_on(compare(&one, &other, &[])).unwrap_err();
        assert!(difference.to_string().contains(&format!("needs {needed:?}")), "{difference}");
        assert!(!difference.is_too_slow());
    }
}

/// What must be noticed within a few hundred runs: on streams and consumers…
const DURABLE: &[&str] = &[
    "acks nothing",
    "acks what is dropped",
    "appends in silence",
    "begins with the newest",
    "buries a replay under its own subject",
    "buries nothing",
    "buries once for all",
    "buries twice",
    "counts no attempts",
    "counts over all streams",
    "delivers everything twice",
    "does not say how long a claim lasts",
    "expects nothing",
    "expects the last of the stream",
    "forgets an append",
    "forgets what one consumer settled",
    "gives no reason",
    "ignores a subject's share",
    "ignores the delay",
    "ignores the selection",
    "keeps claims of the closed",
    "keeps every declaration",
    "keeps settled work",
    "knows the ids of other streams",
    "lets anybody consume",
    "names a new sequence for a repeat",
    "naks nothing",
    "never gives up",
    "permits every publish",
    "replays to everyone",
    "retires every consumer",
    "retires nobody",
    "stores a repeat",
    "stores no headers",
    "strips the prefix of a replay",
    "shows where it waits for the broker",
    "swallows what no stream takes",
    "takes back what a reader handed on",
    "takes broker headers",
    "terminates nothing",
    "waits for who holds what was replaced",
];

/// …where claims run out…
const LAPSING: &[&str] = &["forgets what is never settled", "lets claims run out early"];

/// …and on live messages and requests.
const LIVE: &[&str] = &[
    "answers anywhere",
    "answers with a refusal",
    "answers without headers",
    "calls every member",
    "checks no size",
    "counts for each that closes",
    "delivers twice in a group",
    "drops every third message",
    "ends subscriptions with an error",
    "forgets headers",
    "forgets the reply address",
    "hangs up after a refusal",
    "hears nothing of its own",
    "hears the subjects below",
    "keeps one subscription for a filter",
    "keeps what was dropped",
    "leaves subscriptions open",
    "lets a star match many",
    "lower-cases header names",
    "names nobody in the reply address",
    "permits every publish",
    "permits every subscribe",
    "publishes after close",
    "publishes to nobody",
    "requests after close",
    "says timed out for nobody",
    "sends what it refuses",
    "serves after close",
    "shows where it waits for the broker",
    "speaks at the reply address",
    "subscribes after close",
    "takes all groups for one",
    "takes any broker reply",
    "takes broker headers",
    "tells a denial to the next call",
    "times out at once",
    "waits for nobody",
    "wants a receiver for everything",
];

/// Each broken broker is noticed.
fn each_is_noticed<T: Debug>(
    breaches: &[&'static str],
    strategy: impl Strategy<Value = Vec<T>>,
    run: impl Fn(&Reference, &Reference, &[T]) -> Result<(), Difference>,
) {
    let mut unnoticed = Vec::new();
    for breach in breaches {
        let (honest, broken) = (Reference::honest(), Reference::honest().breaking(breach));
        let config = Config {
            cases: 600,
            max_shrink_iters: 0,
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        match runner.run(&strategy, |steps| judged(run(&honest, &broken, &steps))) {
            Err(TestError::Fail(..)) => {}
            _ => unnoticed.push(breach),
        }
    }
    assert!(unnoticed.is_empty(), "nobody notices a broker that {unnoticed:?}");
}

#[test]
fn a_broken_broker_looks_different() {
    each_is_noticed(DURABLE, steps(40), |honest, broken, steps| {
        runtime().block_on(compare(honest, broken, steps))
    });
}

#[test]
fn a_broken_broker_looks_different_where_claims_run_out() {
    each_is_noticed(LAPSING, lapsing_steps(40), |honest, broken, steps| {
        runtime().block_on(compare(honest, broken, steps))
    });
}

#[test]
fn a_broken_broker_looks_different_live() {
    each_is_noticed(LIVE, live_steps(40), |honest, broken, steps| {
        runtime().block_on(compare_live(honest, broken, steps))
    });
}
