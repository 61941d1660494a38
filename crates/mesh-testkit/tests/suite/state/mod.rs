//! The suite of stores: each bullet of the port is a case and fails on a store that breaks it.

mod reference;

use std::collections::{BTreeMap, BTreeSet};

use mesh_testkit::state::{self, StateHook};
use mesh_testkit::suite::Outcome;

use reference::Reference;

/// A case, and what a store does that must make it fail.
const BREACHES: &[(&str, &str)] = &[
    ("read_gives_what_was_written", "cuts values"),
    ("read_of_nothing_is_none", "reads what was removed"),
    ("read_of_what_has_expired_is_none", "reads what has expired"),
    ("read_sees_what_another_wrote", "reads what it has read before"),
    ("read_stays_in_its_bucket", "has one bucket for all"),
    ("write_of_what_is_absent_is_done_once", "takes what is there for absent"),
    ("write_over_a_revision_needs_that_very_one", "takes any revision"),
    ("write_over_anything_replaces_it", "replaces nothing"),
    ("write_revisions_grow", "begins its numbers anew"),
    ("write_has_one_winner_of_many", "looks before it locks"),
    ("write_after_the_end_finds_nothing", "writes over nothing that has expired"),
    ("write_begins_the_lifetime_anew", "keeps the first end"),
    ("write_of_the_largest_value_is_done", "takes one byte less"),
    ("write_of_one_byte_more_is_too_large", "takes any length"),
    ("write_into_a_full_bucket_is_full", "pushes out the oldest"),
    ("write_into_a_full_bucket_is_full", "has no end of room"),
    ("write_into_a_full_bucket_is_full", "replaces nothing when it is full"),
    ("write_to_a_store_that_is_away_is_unavailable", "stays when it is taken away"),
    ("write_to_a_store_that_is_away_is_unavailable", "says that it is damaged"),
    ("remove_takes_the_entry", "reads what was removed"),
    ("remove_of_another_revision_conflicts", "takes any revision"),
    ("remove_of_nothing_is_done", "misses what it removes"),
    ("watch_tells_what_stands_there_and_then_caught", "does not tell what stands there"),
    ("watch_tells_what_stands_there_and_then_caught", "never says caught"),
    ("watch_tells_each_change_of_a_key_in_order", "tells every second change"),
    ("watch_tells_an_expiry", "does not tell of ends"),
    ("watch_begun_amid_writings_misses_none", "looks before it listens"),
    ("watch_that_is_left_behind_ends_with_an_error", "skips what a slow reader has missed"),
    ("watch_ends_with_an_error_when_the_store_goes", "leaves watchers alone"),
];

#[tokio::test(start_paused = true)]
async fn an_honest_store_passes_every_case() {
    let report = state::run(&Reference::honest()).await;
    report.assert();
    assert_eq!(report.rows().len(), 25);
}

#[tokio::test(start_paused = true)]
async fn each_breach_fails_its_case() {
    let mut passed = Vec::new();
    for (name, breach) in BREACHES {
        let case = state::cases().find(|case| case.name() == *name).unwrap();
        match state::run_case(&Reference::breaking(breach), &case).await {
            Outcome::Failed(why) => println!("{name}: a store that {breach}\n    {why}"),
            _ => passed.push(format!("{name}: a store that {breach}")),
        }
    }
    assert!(passed.is_empty(), "these breaches pass:\n{}", passed.join("\n"));
    let broken: BTreeSet<_> = BREACHES.iter().map(|(name, _)| *name).collect();
    let cases: BTreeSet<_> = state::cases().map(|case| case.name()).collect();
    assert_eq!(broken, cases, "each case has a breach");
}

#[test]
fn every_bullet_of_the_port_is_a_case_with_its_hook() {
    let port = include_str!("../../../../mesh-core/src/store/key_value.rs");
    let mut bullets: BTreeMap<&str, String> = BTreeMap::new();
    let mut last = None;
    for doc in port.lines().map(|line| line.trim().strip_prefix("///")) {
        let bullet = doc.and_then(|doc| doc.trim().strip_prefix("- `")?.split_once('`'));
        if let Some((name, text)) = bullet {
            assert!(bullets.insert(name, text.to_owned()).is_none(), "{name} stands twice");
            last = Some(name);
        } else if let (Some(name), Some(more)) = (last, doc.and_then(|doc| doc.strip_prefix("   ")))
        {
            bullets.entry(name).or_default().push_str(&format!(" {more}"));
        } else {
            last = None;
        }
    }
    let hook = |text: &str| match text {
        text if text.contains("[where the harness can bound it]") => Some(StateHook::Small),
        text if text.contains("[where the harness can take it away]") => Some(StateHook::TakeAway),
        text if text.contains("[where the harness says how many") => Some(StateHook::Backlog),
        _ => None,
    };
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said: BTreeMap<_, _> =
        bullets.iter().map(|(name, text)| (*name, hook(&squeezed(text)))).collect();
    let cases: BTreeMap<_, _> = state::cases().map(|case| (case.name(), case.hook())).collect();
    assert_eq!(said, cases);
}

#[tokio::test(start_paused = true)]
async fn a_case_whose_hook_is_not_offered_is_shown_and_not_run() {
    let report = state::run(&Reference::honest().without_hooks()).await;
    assert_eq!(report.summary(), "21 passed, 0 refused as undeclared, 4 skipped, 0 failed");
    let outcome = report.outcome("write_into_a_full_bucket_is_full").unwrap().to_string();
    assert_eq!(outcome, "skipped: the harness can't bound a bucket");
}
