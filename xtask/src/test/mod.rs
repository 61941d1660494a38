//! `cargo xtask test`: each step says what it does, sets up what the tests need, or runs some.

pub(crate) mod examples;
mod interop;
mod nats_server;
pub(crate) mod oldest;
mod python;
mod rabbitmq;
mod suites;

use crate::run::{Failure, Workspace};

type Step = fn(&Workspace) -> Result<(), Failure>;

/// The steps in order, a file each. What brings a broker that tests need goes before the suites.
const STEPS: &[(&str, Step)] = &[
    ("nats-server: bring the one that tests start", nats_server::bring),
    ("rabbitmq: bring the one that tests start", rabbitmq::bring),
    ("interop: bring what the foreign realm runs in", interop::bring),
    ("examples: run each, compare what it prints", examples::run_all),
    ("suites: unit, property, conformance and documentation tests", suites::run_all),
];

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    for (index, (title, step)) in STEPS.iter().enumerate() {
        println!("-- step {} of {}, {title}", index + 1, STEPS.len());
        step(workspace)?;
    }
    println!("-- all {} steps passed", STEPS.len());
    Ok(())
}
