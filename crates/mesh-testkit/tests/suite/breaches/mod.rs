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

const BREACHES: &[&[Breach]] = &[
    transport::BREACHES,
    streams::BREACHES,
    requests::BREACHES,
    administration::BREACHES,
];

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
    assert!(
        passed.is_empty(),
        "these breaches pass:\n{}",
        passed.join("\n")
    );
}

#[tokio::test(start_paused = true)]
async fn doing_what_is_not_declared_fails_the_other_half_of_each_case_that_has_one() {
    let mut passed = Vec::new();
    let mut tried = BTreeSet::new();
    for case in suite::cases().filter(Case::has_otherwise) {
        let needed = case.needs().or(case.port());
        let needed = needed.unwrap_or_else(|| panic!("{} has two halves", case.name()));
        let broken = Reference::honest()
            .without(needed)
            .breaking("does what it does not declare");
        tried.insert(needed);
        match failure(&broken, &case).await {
            Some(why) => println!("{}: without {needed:?}\n    {why}", case.name()),
            None => passed.push(case.name()),
        }
    }
    assert!(passed.is_empty(), "these pass: {passed:?}");
    let all = BTreeSet::from(Capability::ALL);
    assert_eq!(tried, all, "these are proven both ways");
}

#[test]
fn every_case_has_a_breach() {
    let broken: BTreeSet<_> = breaches().map(|(case, _)| case).collect();
    let cases: BTreeSet<_> = suite::cases().map(|case| case.name()).collect();
    assert_eq!(broken, cases);
}

#[tokio::test(start_paused = true)]
async fn a_hung_case_fails_by_name() {
    let broken = Reference::honest().breaking("never times out");
    let why = failure(&broken, &case("request_without_an_answer_times_out")).await;
    assert!(why.is_some_and(|why| why.contains("waited")));
}
