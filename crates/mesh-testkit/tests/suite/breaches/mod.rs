//! Each bullet broken on purpose: the case must fail. One file a port.

mod administration;
mod requests;
mod streams;
mod transport;

use std::collections::BTreeSet;

use mesh_core::port::Capability;
use mesh_testkit::suite::{self, Case, Outcome};

use crate::reference::Reference;

/// A case, and what a broker does that must make it fail.
type Breach = (&'static str, &'static str);

const BREACHES: &[&[Breach]] =
    &[transport::BREACHES, streams::BREACHES, requests::BREACHES, administration::BREACHES];

fn breaches() -> impl Iterator<Item = Breach> {
    BREACHES.iter().flat_map(|port| port.iter().copied())
}

fn case(name: &str) -> Case {
    let found = suite::cases().find(|case| case.name() == name);
    found.unwrap_or_else(|| panic!("no case {name}"))
}

async fn failure(broker: &Reference, case: &Case) -> Option<String> {
    match suite::run_case(broker, case).await {
        Outcome::Failed(why) => Some(why),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn each_breach_fails_its_case() {
    let mut passed = Vec::new();
    for (name, breach) in breaches() {
        let broken = Reference::honest().breaking(breach);
        match failure(&broken, &case(name)).await {
            Some(why) => println!("{name}: a broker that {breach}\n    {why}"),
            None => passed.push(format!("{name}: a broker that {breach}")),
        }
    }
    assert!(passed.is_empty(), "these breaches pass:\n{}", passed.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn doing_what_is_not_declared_fails_the_other_half_of_each_case_that_has_one() {
    let mut passed = Vec::new();
    let mut tried = BTreeSet::new();
    for case in suite::cases().filter(Case::has_otherwise) {
        let needed = case.needs().or(case.port());
        let needed = needed.unwrap_or_else(|| panic!("{} has two halves", case.name()));
        let broken = Reference::honest().without(needed).breaking("does what it does not declare");
        tried.insert(needed);
        match failure(&broken, &case).await {
            Some(why) => println!("{}: without {needed:?}\n    {why}", case.name()),
            None => passed.push(case.name()),
        }
    }
    assert!(passed.is_empty(), "these pass: {passed:?}");
    let mut all = BTreeSet::from(Capability::ALL);
    // Without it less is promised and nothing refused: a transport may well know where answers go by
    // other means, and to refuse a foreign address all the same does no harm.
    all.remove(&Capability::ScopedReplies);
    // Nor is a letter wrong that tells more than it must.
    all.remove(&Capability::DeadLetterReasons);
    assert_eq!(tried, all, "these are proven both ways");
}

#[test]
fn every_case_has_a_breach() {
    let broken: BTreeSet<_> = breaches().map(|(case, _)| case).collect();
    let cases: BTreeSet<_> = suite::cases().map(|case| case.name()).collect();
    assert_eq!(broken, cases);
}

/// What a broken broker's case is said to fail of.
async fn why(breach: &'static str, name: &str) -> String {
    let broken = Reference::honest().breaking(breach);
    failure(&broken, &case(name)).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_hung_case_fails() {
    let why = why("stops time", "consume_ack_is_final").await;
    assert_eq!(why, "hung for 60s");
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_panics_fails_its_case_only() {
    let why = why("panics", "publish_without_subscribers_is_accepted").await;
    assert_eq!(why, "panicked: it does panic");
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_does_not_start_fails_with_its_reason() {
    let why = why("does not start", "states_end_with_closed").await;
    assert!(why.starts_with("no broker: the port is taken"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_points_into_its_case() {
    let why = why("forgets an append", "append_returns_when_the_broker_has_it").await;
    assert!(why.contains("cases/append.rs:"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_report_names_what_failed_and_counts() {
    let report = suite::run(&Reference::honest().breaking("acks nothing")).await;
    let failed: Vec<_> = report.failures().collect();
    assert!(failed.contains(&"consume_ack_is_final"), "{failed:?}");
    assert!(failed.len() < 20, "{failed:?}");
    let passed = report.outcome("publish_reaches_every_subscriber");
    assert_eq!(passed, Some(&Outcome::Passed));
    let table = report.to_string();
    assert!(table.ends_with(&format!("{} failed", failed.len())), "{table}");
    let asserted = std::panic::catch_unwind(|| report.assert());
    assert!(asserted.is_err());
}
