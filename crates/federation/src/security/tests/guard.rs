//! The guard in a gateway.

use std::collections::HashSet;
use std::sync::Arc;

use mesh_core::guard::{Inbound, Mode, Now, Policy, Ruling};
use mesh_core::mx::MailboxKind;
use mesh_testkit::clock::ManualClock;

use super::*;
use crate::Seeded;
use crate::edge::{Edge, EdgeConfig, Reaction};

/// Lets only what is proven do anything.
#[derive(Debug)]
struct Proven;

impl Policy for Proven {
    fn rule(&self, inbound: &Inbound<'_>) -> Ruling {
        if inbound.proven { Ruling::Allow } else { Ruling::Deny("not proven".into()) }
    }
}

fn edge(mode: Mode, guard: MxSec, policy: bool) -> Edge {
    let mut config = EdgeConfig::new(realm("acme.com"));
    config.rules = config.rules.waiting(mode, guard);
    if policy {
        config.rules = config.rules.policy(Proven);
    }
    Edge::new(config, Arc::new(Seeded::new(1))).unwrap()
}

/// What became of it, in a word and the guard's name.
async fn sent(edge: &Edge, bytes: &[u8]) -> String {
    let clock = ManualClock::new();
    let mut reaction = edge.receive(bytes, MailboxKind::default(), Now::of(&clock));
    while let Reaction::Wait(waiting) = reaction {
        reaction = waiting.proceed(edge, &clock).await;
    }
    match reaction {
        Reaction::Drop(dropped) => format!("{}: {}", dropped.guard, dropped.reason),
        Reaction::Answer(answer) => {
            let text = String::from_utf8_lossy(answer.bytes()).into_owned();
            format!("answered {}", text.contains("POLICY_DENIED"))
        }
        Reaction::Ask(_) => "asked".into(),
        other => format!("{other:?}"),
    }
}

fn message(id: &str, signer: Option<&Owner>) -> Vec<u8> {
    let mut envelope = command();
    envelope.msg_id = Some(id.to_owned().into());
    if let Some(owner) = signer {
        owner.signer.seal(&mut envelope, NOW).unwrap();
    }
    envelope.encode().unwrap()
}

fn figure(edge: &Edge, name: &str) -> u64 {
    let counters = edge.guards();
    let figures = &counters.of("mxsec").unwrap().figures;
    figures.iter().find(|(of, _)| *of == name).map_or(0, |(_, count)| *count)
}

const LEGACY: &[u8] = br#"{"fromRealm":"shop","toPath":"mail.accepts.send","correlationId":"c-9"}"#;

#[tokio::test]
async fn what_is_not_proven_is_dropped_in_silence_and_counted_by_reason() {
    let edge = edge(Mode::Enforce, guard(), true);
    let said = sent(&edge, &message("a", None)).await;
    assert_eq!(said, "mxsec: no token, and this realm has to prove itself");
    let said = sent(&edge, &message("b", Some(&owner(Algorithm::EdDsa)))).await;
    assert_eq!(said, "mxsec: the realm has no such key");
    assert_eq!(sent(&edge, LEGACY).await, "mxsec: a legacy envelope can't prove its realm");
    let counts = ["proven", "no_token", "unknown_key", "legacy", "signature"];
    assert_eq!(counts.map(|name| figure(&edge, name)), [0, 1, 1, 1, 0]);
    assert_eq!(edge.guards().of("mxsec").unwrap().refused, 3);
}

#[tokio::test]
async fn what_is_proven_is_so_for_the_policy() {
    let edge = edge(Mode::Enforce, guard(), true);
    assert_eq!(sent(&edge, &message("a", Some(&EDDSA))).await, "asked");
    assert_eq!(sent(&edge, &message("b", Some(&ES256))).await, "asked");
    assert_eq!(figure(&edge, "proven"), 2);
}

#[tokio::test]
async fn in_shadow_it_counts_and_goes_on_unproven() {
    let edge = edge(Mode::Shadow, guard(), true);
    assert_eq!(sent(&edge, &message("a", None)).await, "answered true");
    assert_eq!(sent(&edge, &message("b", Some(&EDDSA))).await, "asked");
    let counters = edge.guards();
    assert_eq!((counters.of("mxsec").unwrap().shadow_refused, figure(&edge, "no_token")), (1, 1));
}

#[tokio::test]
async fn a_replayed_token_is_refused_by_the_guard_after() {
    let edge = edge(Mode::Enforce, guard(), false);
    let bytes = message("a", Some(&EDDSA));
    assert_eq!(sent(&edge, &bytes).await, "asked");
    assert_eq!(sent(&edge, &bytes).await, "replay: seen before");
}

#[tokio::test]
async fn a_forged_message_does_not_use_up_the_id_of_the_honest_one() {
    let edge = edge(Mode::Enforce, guard(), false);
    assert!(sent(&edge, &message("a", None)).await.starts_with("mxsec"));
    assert_eq!(sent(&edge, &message("a", Some(&EDDSA))).await, "asked");
}

#[tokio::test]
async fn only_listed_realms_have_to_prove_themselves() {
    let listed = Required::Realms(HashSet::from([realm("bank")]));
    let edge_of = |required| edge(Mode::Enforce, guard().required(required), false);
    let edge = edge_of(listed);
    assert_eq!(sent(&edge, &message("a", None)).await, "asked");
    assert_eq!(sent(&edge, LEGACY).await, "asked");
    let edge = edge_of(Required::Realms(HashSet::from([realm("shop")])));
    assert!(sent(&edge, &message("a", None)).await.starts_with("mxsec"));
    assert!(sent(&edge, LEGACY).await.starts_with("mxsec"));
    let edge = edge_of(Required::Off);
    assert_eq!(sent(&edge, &message("a", None)).await, "asked");
    // A token that nobody has to bring proves nothing.
    assert_eq!(sent(&edge, &message("b", Some(&EDDSA))).await, "asked");
    assert_eq!(figure(&edge, "proven"), 0);
}

#[tokio::test]
async fn a_realm_that_may_use_the_legacy_profile_stays_a_claim() {
    let guard = guard().allow_legacy(realm("shop"));
    let edge = edge(Mode::Enforce, guard, true);
    // Past the guard, and denied by the policy.
    assert_eq!(sent(&edge, LEGACY).await, "answered true");
    assert!(sent(&edge, &message("a", None)).await.starts_with("mxsec"));
}

#[tokio::test]
async fn legacy_replies_prove_nothing() {
    let nameless = br#"{"correlationId":"c-1","ok":true}"#;
    let named = br#"{"correlationId":"c-1","ok":true,"fromRealm":"shop"}"#;
    let edge = edge(Mode::Enforce, guard(), false);
    for reply in [&nameless[..], named] {
        assert!(sent(&edge, reply).await.starts_with("mxsec: a legacy"));
    }
}
