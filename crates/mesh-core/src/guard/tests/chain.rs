use std::sync::Arc;

use super::*;
use crate::mx::{EdgeCode, MsgType};

fn edge() -> EdgeGuards {
    let mut guards = EdgeGuards::new(realm("acme.com"), SECRET);
    guards.policy = Some(Arc::new(PrefixDeny::new(["admin"])));
    guards.rate.per_realm = Quota::new(2, 1).unwrap();
    guards
}

fn outcome(chain: &GuardChain, inbound: &Inbound<'_>, now: Now) -> String {
    chain.check(inbound, now).outcome.to_string()
}

#[test]
fn the_standard_guards_stand_in_the_order_of_the_protocol() {
    let chain = GuardChain::standard(edge()).build();
    let names: Vec<_> = chain.counters().guards.iter().map(|g| g.guard).collect();
    assert_eq!(names, ["addressed", "expiry", "relay", "replay", "rate", "policy"]);
}

#[test]
fn the_first_guard_that_refuses_decides() {
    let chain = GuardChain::standard(edge()).build();
    let mut inbound = command("a", "m-1");
    inbound.to_realm = Some("b");
    inbound.reply_to_realm = Some("c");
    inbound.to_path = Some("admin.accepts.stop");
    inbound.timestamp = Some(Timestamp::from_millis(0));
    inbound.ttl_ms = Some(10);
    let found = |inbound: &Inbound<'_>| outcome(&chain, inbound, at(10));
    assert_eq!(found(&inbound), "drop by addressed: meant for another realm");
    inbound.to_realm = Some("acme.com");
    assert_eq!(found(&inbound), "drop by expiry: expired");
    inbound.ttl_ms = Some(11);
    assert_eq!(found(&inbound), "drop by relay: the answer would go to another realm");
    inbound.reply_to_realm = Some("a");
    assert_eq!(
        found(&inbound),
        "nack MX.EDGE.POLICY_DENIED by policy: this path is closed to other realms"
    );
    inbound.to_path = Some("mail.accepts.send");
    assert_eq!(found(&inbound), "pass");
    assert_eq!(found(&inbound), "drop by replay: seen before");
    inbound.msg_id = Some("m-2");
    assert_eq!(
        found(&inbound),
        "nack MX.EDGE.RATE_LIMITED by rate: this realm sends too fast; a token in 1000 ms"
    );
}

#[test]
fn only_requests_are_answered() {
    let chain = GuardChain::builder().enforce(PolicyGuard::new(PrefixDeny::new([""]))).build();
    for kind in [MsgType::Cmd, MsgType::Sub, MsgType::Unsub] {
        let outcome = chain.check(&Inbound::new(kind), at(0)).outcome;
        assert_eq!(
            outcome,
            Outcome::Nack {
                guard: "policy",
                code: EdgeCode::PolicyDenied.as_str(),
                message: "this path is closed to other realms".into()
            },
            "{kind:?}"
        );
    }
    for kind in [MsgType::Evt, MsgType::Result, MsgType::Nack] {
        let outcome = chain.check(&Inbound::new(kind), at(0)).outcome;
        assert_eq!(
            outcome,
            Outcome::Drop { guard: "policy", reason: "this path is closed to other realms".into() },
            "{kind:?}"
        );
    }
}

#[test]
fn a_retry_after_a_nack_is_not_a_replay() {
    let chain = GuardChain::standard(edge()).build();
    assert_eq!(outcome(&chain, &command("a", "m-1"), at(0)), "pass");
    assert_eq!(outcome(&chain, &command("a", "m-2"), at(0)), "pass");
    let third = command("a", "m-3");
    for _ in 0..3 {
        assert!(outcome(&chain, &third, at(0)).starts_with("nack MX.EDGE.RATE_LIMITED"));
    }
    assert_eq!(outcome(&chain, &third, at(1_000)), "pass");
    assert_eq!(outcome(&chain, &third, at(9_000)), "drop by replay: seen before");
}

#[test]
fn a_shadow_refusal_keeps_the_mark_of_a_message_that_went_on() {
    let mut guards = edge();
    guards.shadow = vec![Stage::Rate];
    guards.rate.per_realm = Quota::new(1, 1).unwrap();
    let chain = GuardChain::standard(guards).build();
    assert_eq!(outcome(&chain, &command("a", "m-1"), at(0)), "pass");
    assert_eq!(outcome(&chain, &command("a", "m-2"), at(0)), "pass");
    assert_eq!(outcome(&chain, &command("a", "m-2"), at(0)), "drop by replay: seen before");
    let counters = chain.counters();
    let rate = counters.of("rate").unwrap();
    assert_eq!((rate.passed, rate.refused, rate.shadow_refused), (1, 0, 1));
}

#[test]
fn a_shadow_replay_guard_marks_and_releases_as_an_enforced_one() {
    let mut guards = edge();
    guards.shadow = vec![Stage::Replay];
    let chain = GuardChain::standard(guards).build();
    let mut denied = command("a", "m-1");
    denied.to_path = Some("admin.accepts.stop");
    let traced = chain.check_traced(&denied, at(0));
    assert_eq!(
        traced.trace.unwrap().to_string(),
        "addressed: passed\n\
         expiry: passed\n\
         relay: passed\n\
         replay (shadow): passed, reserved\n\
         rate: passed\n\
         policy: refused MX.EDGE.POLICY_DENIED, this path is closed to other realms\n\
         replay (shadow): released"
    );
    assert_eq!(outcome(&chain, &command("a", "m-1"), at(0)), "pass");
    let traced = chain.check_traced(&command("a", "m-1"), at(5_000));
    assert_eq!(traced.outcome, Outcome::Pass);
    let steps = traced.trace.unwrap();
    assert_eq!(steps.steps()[3].to_string(), "replay (shadow): refused, seen before");
    assert_eq!(chain.counters().of("replay").unwrap().shadow_refused, 1);
}

#[test]
fn each_guard_counts_what_reached_it() {
    let chain = GuardChain::standard(edge()).build();
    let mut elsewhere = command("a", "m-1");
    elsewhere.to_realm = Some("b");
    let _ = chain.check(&elsewhere, at(0));
    for _ in 0..3 {
        let _ = chain.check(&command("a", "m-1"), at(0));
    }
    let counters = chain.counters();
    assert_eq!(counters.checked, 4);
    let seen: Vec<_> = counters.guards.iter().map(|g| (g.guard, g.passed, g.refused)).collect();
    assert_eq!(
        seen,
        [
            ("addressed", 3, 1),
            ("expiry", 3, 0),
            ("relay", 3, 0),
            ("replay", 1, 2),
            ("rate", 1, 0),
            ("policy", 1, 0)
        ]
    );
    let replay = counters.of("replay").unwrap();
    assert!(replay.figures.contains(&("replayed", 2)));
    assert!(counters.of("nobody").is_none());
}

#[test]
fn a_chain_reclaims_for_its_guards() {
    let chain = GuardChain::standard(edge()).build();
    let _ = chain.check(&command("a", "m-1"), at(0));
    // A mark and a bucket.
    assert_eq!(chain.reclaim(at(300_000)), 2);
    assert_eq!(chain.reclaim(at(300_000)), 0);
}

#[test]
fn a_trace_is_only_made_when_asked_for() {
    let chain = GuardChain::standard(edge()).build();
    assert_eq!(chain.check(&command("a", "m-1"), at(0)).trace, None);
    let traced = chain.check_traced(&command("a", "m-2"), at(0)).trace;
    assert_eq!(traced.unwrap().steps().len(), 6);
}

#[test]
fn an_empty_chain_passes() {
    let chain = GuardChain::builder().build();
    assert_eq!(outcome(&chain, &command("a", "m-1"), at(0)), "pass");
    assert_eq!(chain.counters().checked, 1);
}

#[test]
fn what_is_no_envelope_is_dropped_and_counted_apart_from_what_was_checked() {
    let chain = GuardChain::standard(edge()).build();
    for (bytes, said) in [
        (&b"{"[..], "drop by decode: envelope at offset 1: unexpected end"),
        (b"{}", "drop by decode: envelope at offset 0: of no known profile"),
    ] {
        let error = crate::mx::decode(bytes, 1024).unwrap_err();
        assert_eq!(chain.undecodable(&error).outcome.to_string(), said);
    }
    let counters = chain.counters();
    assert_eq!((counters.undecodable, counters.checked), (2, 0));
    assert!(counters.guards.iter().all(|guard| guard.passed == 0 && guard.refused == 0));
    let _ = chain.check(&command("a", "m-1"), at(0));
    let counters = chain.counters();
    assert_eq!((counters.undecodable, counters.checked), (2, 1));
}
