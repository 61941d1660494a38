//! The reference broker beside the model, honest and broken.

use mesh_core::port::Capability;
use mesh_testkit::model::{self, Operation};
use mesh_testkit::strategies::operations;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::reference::Reference;

fn check(broker: &Reference, steps: &[Operation]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let checked = runtime.block_on(model::check(broker, steps));
    checked.map_err(|divergence| TestCaseError::fail(divergence.to_string()))
}

proptest! {
    #![proptest_config(Config { cases: 300, ..Config::default() })]

    #[test]
    fn an_honest_broker_never_leaves_the_model(steps in operations(60)) {
        check(&Reference::honest(), &steps)?;
    }
}

#[test]
fn a_broker_without_dead_letters_stays_with_the_model_too() {
    let broker = Reference::honest().without(Capability::DeadLetters);
    let steps = [
        Operation::Append { subject: 0, id: None },
        Operation::Attach { consumer: 0 },
        Operation::Terminate { held: 0 },
    ];
    check(&broker, &steps).unwrap();
}

#[test]
fn a_broker_that_lacks_what_is_compared_is_refused() {
    for needed in model::NEEDS {
        let broker = Reference::honest().without(needed);
        let error = check(&broker, &[]).unwrap_err();
        assert!(error.to_string().contains(&format!("needs {needed:?}")), "{error}");
    }
}

/// What a broker may do wrong that the model must notice within a few hundred sequences.
const BREACHES: &[&str] = &[
    "acks nothing",
    "acks what is dropped",
    "begins with the newest",
    "buries nothing",
    "buries twice",
    "counts no attempts",
    "counts an attempt for waiting",
    "counts no claims",
    "delivers everything twice",
    "does not say how long a claim lasts",
    "forgets an append",
    "forgets what is never settled",
    "forgets what one consumer settled",
    "gives no reason",
    "ignores progress",
    "ignores the bound",
    "ignores the delay",
    "ignores the selection",
    "keeps claims of the closed",
    "keeps settled work",
    "lets claims run out early",
    "lets work overtake",
    "naks nothing",
    "never gives up",
    "retires every consumer",
    "retires in silence",
    "retires nobody",
    "stores a repeat",
    "terminates nothing",
];

#[test]
fn each_breach_leaves_the_model() {
    for breach in BREACHES {
        let broker = Reference::honest().breaking(breach);
        let config = Config {
            cases: 400,
            max_shrink_iters: 0,
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let result = runner.run(&operations(60), |steps| check(&broker, &steps));
        match result {
            Err(TestError::Fail(why, _)) => println!("a broker that {breach}: {why}"),
            other => panic!("the model does not notice a broker that {breach}: {other:?}"),
        }
    }
}
