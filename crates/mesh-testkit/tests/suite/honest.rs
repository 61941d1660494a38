use mesh_core::port::Capability;
use mesh_testkit::suite::{self, Hook, Outcome};

use crate::reference::Reference;

#[tokio::test(start_paused = true)]
async fn an_honest_broker_passes_every_case() {
    let report = suite::run(&Reference::honest()).await;
    report.assert();
    let passed = |(_, outcome): &(_, Outcome)| *outcome == Outcome::Passed;
    assert!(report.rows().iter().all(passed), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_honest_broker_passes_on_several_threads() {
    suite::run(&Reference::honest()).await.assert();
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_declares_nothing_passes_what_is_left() {
    let report = suite::run(&Reference::with(&[])).await;
    report.assert();
    let count = |wanted: fn(&Outcome) -> bool| {
        report.rows().iter().filter(|(_, outcome)| wanted(outcome)).count()
    };
    // Both halves of Sequences hang on a port that is not there.
    let refused = count(|outcome| matches!(outcome, Outcome::Refused(_)));
    assert_eq!(refused, 6, "{report}");
    assert!(count(|outcome| *outcome == Outcome::Passed) >= 20, "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_declares_less_passes_and_each_skipped_case_is_named() {
    for capability in Capability::ALL {
        let report = suite::run(&Reference::honest().without(capability)).await;
        report.assert();
        let named = [Outcome::Refused(capability), Outcome::Skipped(capability)];
        let named = |(_, outcome): &(_, Outcome)| named.contains(outcome);
        assert!(report.rows().iter().any(named), "{capability:?}\n{report}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_harness_without_a_hook_skips_what_needs_it_and_says_so() {
    let report = suite::run(&Reference::honest().without_hooks()).await;
    report.assert();
    let hooked: Vec<_> = suite::cases().filter(|case| case.hook().is_some()).collect();
    assert!(!hooked.is_empty());
    for case in hooked {
        let outcome = report.outcome(case.name());
        assert_eq!(outcome, Some(&Outcome::Untried(Hook::SetPermissions)), "{}", case.name());
    }
    let skipped = "skipped: the harness can't change permissions";
    assert!(report.to_string().contains(skipped), "{report}");
}
