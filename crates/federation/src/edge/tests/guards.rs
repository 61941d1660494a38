use std::borrow::Cow;
use std::num::NonZeroU32;

use mesh_core::guard::{
    Guard, Inbound, Mode, Now, Outcome, Policy, PrefixDeny, Quota, Refusal, Ruling, Stage, Verdict,
};

use super::super::*;
use super::support::*;

const DENIED: &str = "mx/in/1/shop/00 mxenv1 MX.EDGE.POLICY_DENIED";

fn rules() -> EdgeRules {
    EdgeRules::default()
}

fn slow() -> EdgeRules {
    let mut rules = rules();
    rules.rate.per_realm = Quota::new(1, 1).unwrap();
    rules
}

#[derive(Debug)]
struct Only(&'static str);

impl Policy for Only {
    fn rule(&self, inbound: &Inbound<'_>) -> Ruling {
        match inbound.from_realm {
            Some(realm) if realm == self.0 => Ruling::Allow,
            _ => Ruling::Deny(Cow::Borrowed("not you")),
        }
    }
}

/// A guard that refuses all, at a stage.
#[derive(Debug)]
struct Never(&'static str, Stage);

impl Guard for Never {
    fn name(&self) -> &'static str {
        self.0
    }
    fn stage(&self) -> Stage {
        self.1
    }
    fn check(&self, _: &Inbound<'_>, _: Now) -> Verdict {
        Verdict::Refuse(Refusal::silent("never"))
    }
}

#[test]
fn a_refusal_by_rate_or_policy_is_answered_and_may_come_again() {
    let mut config = config();
    config.rules = slow().policy(Only("other"));
    let edge = edge(config);
    let bytes = cmd("1");
    assert_eq!(receive(&edge, &bytes, MX, 0), DENIED);
    let expected = "mx/in/1/shop/00 mxenv1 MX.EDGE.RATE_LIMITED";
    assert_eq!(receive(&edge, &bytes, MX, 0), expected);
    assert_eq!(receive(&edge, &bytes, MX, 1_000), DENIED, "its mark was released");
    let answer = receive(&edge, &legacy("2"), LEGACY, 5_000);
    assert_eq!(answer, "public.ingress.shop legacy MX.EDGE.POLICY_DENIED");
    let guards = edge.guards();
    assert_eq!(guards.of("policy").unwrap().refused, 3);
    assert_eq!(guards.of("rate").unwrap().refused, 1);
    assert_eq!(edge.counters().nacked, 4);
}

#[test]
fn a_policy_is_replaced_while_it_runs_and_counters_go_on() {
    let mut config = config();
    config.rules = rules().policy(PrefixDeny::new(["stock"]));
    let edge = edge(config);
    let bytes = cmd("1");
    assert_eq!(receive(&edge, &bytes, MX, 0), DENIED);
    edge.reload(rules()).unwrap();
    assert!(receive(&edge, &bytes, MX, 0).starts_with("ask"));
    edge.reload(rules().policy(PrefixDeny::new(["stock"]))).unwrap();
    assert_eq!(receive(&edge, &cmd("2"), MX, 0), DENIED);
    let guards = edge.guards();
    assert_eq!(guards.checked, 3);
    assert_eq!(guards.of("policy").unwrap().refused, 2);
    assert_eq!(guards.of("replay").unwrap().passed, 3);
}

#[test]
fn marks_survive_a_reload() {
    let edge = edge(config());
    let bytes = cmd("1");
    assert!(receive(&edge, &bytes, MX, 0).starts_with("ask"));
    edge.reload(slow()).unwrap();
    assert_eq!(receive(&edge, &bytes, MX, 0), "drop by replay: seen before");
}

#[test]
fn buckets_survive_a_reload_with_the_same_limits_and_begin_full_with_others() {
    let mut config = config();
    config.rules = slow();
    let edge = edge(config);
    assert!(receive(&edge, &cmd("1"), MX, 0).starts_with("ask"));
    edge.reload(slow().policy(Only("shop"))).unwrap();
    assert!(receive(&edge, &cmd("2"), MX, 0).ends_with("RATE_LIMITED"));
    let mut other = slow();
    other.rate.per_realm.burst = NonZeroU32::new(2).unwrap();
    edge.reload(other).unwrap();
    assert!(receive(&edge, &cmd("3"), MX, 0).starts_with("ask"));
}

#[test]
fn a_message_that_is_under_way_during_a_reload_keeps_its_marks_right() {
    let edge = edge(config());
    let bytes = cmd("1");
    let asked = ask(&edge, &bytes, MX, 0);
    edge.reload(rules().policy(PrefixDeny::new(["admin"]))).unwrap();
    let unsent = edge.unsent(asked, mesh_core::port::ErrorKind::NoResponders, at(0));
    assert!(unsent.answer.is_some());
    drop(unsent);
    assert!(receive(&edge, &bytes, MX, 0).starts_with("ask"));
    assert_eq!(edge.guards().checked, 2);
}

#[test]
fn rules_that_make_no_sense_are_refused_and_those_in_force_stay() {
    let edge = edge(config());
    for stage in [Stage::Addressed, Stage::Relay] {
        assert_eq!(edge.reload(rules().shadow(stage)), Err(RulesError::NotInShadow(stage)));
    }
    let twice = rules().guard(Mode::Enforce, Never("replay", Stage::Policy));
    assert_eq!(edge.reload(twice), Err(RulesError::Twice("replay")));
    assert!(receive(&edge, &cmd("1"), MX, 0).starts_with("ask"));
    let mut config = config();
    config.limits.pending = 0;
    let error = Edge::new(config, std::sync::Arc::new(crate::Seeded::new(1))).unwrap_err();
    assert_eq!(error, RulesError::Zero("pending"));
}

#[test]
fn a_guard_in_shadow_counts_and_changes_nothing() {
    let mut config = config();
    config.rules = slow()
        .policy(Only("other"))
        .guard(Mode::Shadow, Never("never", Stage::Security))
        .shadow(Stage::Rate)
        .shadow(Stage::Policy);
    let edge = edge(config);
    for id in ["1", "2", "3"] {
        assert!(receive(&edge, &cmd(id), MX, 0).starts_with("ask"));
    }
    let guards = edge.guards();
    for (guard, expected) in [("never", 3), ("rate", 2), ("policy", 3)] {
        let counters = guards.of(guard).unwrap();
        assert_eq!((counters.refused, counters.shadow_refused), (0, expected), "{guard}");
    }
    // What is closed stays closed.
    let bytes = request(mesh_core::mx::MsgType::Cmd, "_a.accepts.b", "4").encode().unwrap();
    assert_eq!(receive(&edge, &bytes, MX, 0), DENIED);
}

#[tokio::test]
async fn each_decision_is_told_to_who_asks_with_how_it_came_about() {
    let mut config = config();
    config.rules = rules().policy(PrefixDeny::new(["admin"]));
    let edge = edge(config);
    assert!(receive(&edge, &cmd("0"), MX, 0).starts_with("ask"));
    let mut decisions = edge.decisions();
    assert!(receive(&edge, &cmd("1"), MX, 7).starts_with("ask"));
    let bytes = request(mesh_core::mx::MsgType::Cmd, "admin.accepts.stop", "2").encode().unwrap();
    assert_eq!(receive(&edge, &bytes, MX, 8), DENIED);
    assert!(receive(&edge, b"{}", LEGACY, 9).starts_with("drop by decode"));
    let bytes = request(mesh_core::mx::MsgType::Cmd, "a.emits.b", "3").encode().unwrap();
    assert!(receive(&edge, &bytes, MX, 10).ends_with("BAD_REQUEST"));

    let passed = decisions.next().await.unwrap().unwrap();
    assert_eq!(passed.outcome, Outcome::Pass);
    assert_eq!((passed.at, passed.mailbox), (at(7).wall, MX));
    let what = passed.what.as_ref().unwrap();
    assert_eq!(what.from_realm.as_deref(), Some("shop"));
    assert_eq!(what.to_path.as_deref(), Some("stock.accepts.count"));
    assert_eq!(what.msg_id.as_deref(), Some("1"));
    assert!(passed.trace.to_string().contains("replay: passed, reserved"));

    let denied = decisions.next().await.unwrap().unwrap();
    assert!(matches!(denied.outcome, Outcome::Nack { guard: "policy", .. }));
    let trace = denied.trace.to_string();
    assert!(trace.ends_with("replay: released"), "{trace}");

    let undecodable = decisions.next().await.unwrap().unwrap();
    assert!(matches!(undecodable.outcome, Outcome::Drop { guard: "decode", .. }));
    assert!(undecodable.what.is_none());

    let bad = decisions.next().await.unwrap().unwrap();
    assert!(matches!(bad.outcome, Outcome::Nack { guard: "route", .. }));
    assert!(bad.trace.to_string().ends_with("replay: released"));
}

#[tokio::test]
async fn a_slow_reader_of_decisions_is_told_how_many_it_missed() {
    let edge = edge(config());
    let mut decisions = edge.decisions();
    for _ in 0..1_030 {
        let _ = edge.receive(b"{}", MX, at(0));
    }
    assert_eq!(decisions.next().await.unwrap(), Err(Missed(6)));
    assert!(decisions.next().await.unwrap().is_ok());
    drop(edge);
    for _ in 1..1_024 {
        assert!(decisions.next().await.unwrap().is_ok());
    }
    assert!(decisions.next().await.is_none());
}
