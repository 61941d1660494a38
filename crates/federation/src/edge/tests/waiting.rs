//! Guards that have to wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use mesh_core::guard::{Mode, Now, Policy, PrefixDeny, Refusal, Reservation, Stage, Verdict};
use mesh_core::port::{Clock, ErrorKind};
use mesh_testkit::clock::ManualClock;

use super::super::*;
use super::support::*;

/// Remembers each message it lets through, and has to wait for that.
#[derive(Debug)]
struct Slow {
    name: &'static str,
    stage: Stage,
    says: fn(&Arrival<'_>) -> Verdict,
    held: AtomicU64,
}

#[derive(Debug)]
struct Shared(Arc<Slow>);

#[async_trait]
impl AsyncGuard for Shared {
    fn name(&self) -> &'static str {
        self.0.name
    }
    fn stage(&self) -> Stage {
        self.0.stage
    }
    async fn check(&self, arrival: &Arrival<'_>, _now: Now) -> Verdict {
        tokio::task::yield_now().await;
        let verdict = (self.0.says)(arrival);
        if matches!(verdict, Verdict::Reserved(_)) {
            self.0.held.fetch_add(1, Ordering::Relaxed);
        }
        verdict
    }
    async fn release(&self, _: &Arrival<'_>, reservation: Reservation) {
        tokio::task::yield_now().await;
        assert_eq!(reservation.id(), 7);
        self.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}

fn reserved(_: &Arrival<'_>) -> Verdict {
    Verdict::Reserved(Reservation::new(7))
}

fn forged(_: &Arrival<'_>) -> Verdict {
    Verdict::Refuse(Refusal::silent("forged"))
}

fn broken(_: &Arrival<'_>) -> Verdict {
    panic!("on purpose")
}

fn slow(stage: Stage, says: fn(&Arrival<'_>) -> Verdict) -> (Arc<Slow>, Shared) {
    let slow = Arc::new(Slow { name: "slow", stage, says, held: AtomicU64::new(0) });
    (Arc::clone(&slow), Shared(slow))
}

fn with(policy: impl Policy + 'static, mode: Mode, guard: Shared) -> Edge {
    let mut config = config();
    config.rules = EdgeRules::default().policy(policy).waiting(mode, guard);
    edge(config)
}

async fn settled<'a>(edge: &Edge, bytes: &'a [u8]) -> Reaction<'a> {
    let clock = ManualClock::new();
    let mut reaction = edge.receive(bytes, MX, Now::of(&clock));
    while let Reaction::Wait(waiting) = reaction {
        reaction = waiting.proceed(edge, &clock).await;
    }
    reaction
}

fn nobody() -> PrefixDeny {
    PrefixDeny::new([""; 0])
}

#[tokio::test]
async fn a_guard_that_waits_stands_in_the_order_of_the_protocol() {
    let (_, guard) = slow(Stage::Replay, reserved);
    let edge = with(nobody(), Mode::Enforce, guard);
    let order: Vec<_> = edge.guards().guards.iter().map(|guard| guard.guard).collect();
    let expected = ["addressed", "expiry", "relay", "replay", "slow", "rate", "closed", "policy"];
    assert_eq!(order, expected);
    assert!(short(settled(&edge, &cmd("1")).await).starts_with("ask"));
    let counters = edge.guards();
    assert_eq!(counters.checked, 1);
    assert!(counters.guards.iter().all(|guard| guard.passed == 1));
    // What a guard before it refuses never gets to it.
    assert_eq!(short(settled(&edge, &cmd("1")).await), "drop by replay: seen before");
    assert_eq!(edge.guards().of("slow").unwrap().passed, 1);
}

#[tokio::test]
async fn a_later_refusal_releases_what_every_guard_reserved() {
    let (slow, guard) = slow(Stage::Security, reserved);
    let edge = with(PrefixDeny::new(["stock"]), Mode::Enforce, guard);
    let mut decisions = edge.decisions();
    for _ in 0..2 {
        let refused = short(settled(&edge, &cmd("1")).await);
        assert!(refused.ends_with("POLICY_DENIED"), "{refused}");
        assert_eq!(slow.held.load(Ordering::Relaxed), 0);
    }
    let decided = decisions.next().await.unwrap().unwrap();
    let trace = decided.trace.to_string();
    assert!(trace.ends_with("replay: released\nslow: released"), "{trace}");
}

#[tokio::test]
async fn a_request_that_never_reached_the_inside_is_released_by_guards_that_wait_too() {
    let (slow, guard) = slow(Stage::Replay, reserved);
    let edge = with(nobody(), Mode::Enforce, guard);
    let bytes = cmd("1");
    let Reaction::Ask(ask) = settled(&edge, &bytes).await else { panic!() };
    assert_eq!(slow.held.load(Ordering::Relaxed), 1);
    let unsent = edge.unsent(ask, ErrorKind::NoResponders, at(0));
    assert!(unsent.answer.is_some());
    let release = unsent.release.unwrap();
    assert!(!release.is_empty());
    release.finish().await;
    assert_eq!(slow.held.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn too_many_pending_requests_release_what_guards_that_wait_reserved() {
    let (slow, guard) = slow(Stage::Replay, reserved);
    let mut config = config();
    config.limits.pending = 1;
    config.rules = EdgeRules::default().waiting(Mode::Enforce, guard);
    let edge = edge(config);
    let bytes = cmd("1");
    let Reaction::Ask(_held) = settled(&edge, &bytes).await else { panic!() };
    let refused = short(settled(&edge, &cmd("2")).await);
    assert!(refused.ends_with("RATE_LIMITED"), "{refused}");
    assert_eq!(slow.held.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn its_refusal_ends_the_message_and_releases_earlier_marks() {
    let (_, guard) = slow(Stage::Replay, forged);
    let edge = with(nobody(), Mode::Enforce, guard);
    for _ in 0..2 {
        assert_eq!(short(settled(&edge, &cmd("1")).await), "drop by slow: forged");
    }
    assert_eq!(edge.guards().of("slow").unwrap().refused, 2);
}

#[tokio::test]
async fn in_shadow_it_counts_and_changes_nothing() {
    let (_, guard) = slow(Stage::Security, forged);
    let edge = with(nobody(), Mode::Shadow, guard);
    assert!(short(settled(&edge, &cmd("1")).await).starts_with("ask"));
    let counters = edge.guards();
    let slow = counters.of("slow").unwrap();
    assert_eq!((slow.refused, slow.shadow_refused), (0, 1));
}

#[tokio::test]
async fn one_that_panics_refuses() {
    let (_, guard) = slow(Stage::Security, broken);
    let edge = with(nobody(), Mode::Enforce, guard);
    assert_eq!(short(settled(&edge, &cmd("1")).await), "drop by slow: the guard failed");
}

#[tokio::test]
async fn as_many_wait_as_may_and_others_are_refused_and_may_come_again() {
    let (_, guard) = slow(Stage::Security, reserved);
    let mut config = config();
    config.limits.max_waiting = 1;
    config.rules = EdgeRules::default().waiting(Mode::Enforce, guard);
    let edge = edge(config);
    let [one, two] = ["1", "2"].map(cmd);
    let Reaction::Wait(waiting) = edge.receive(&one, MX, at(0)) else { panic!() };
    assert_eq!(edge.waiting(), 1);
    let expected = "mx/in/1/shop/00 mxenv1 MX.EDGE.RATE_LIMITED";
    assert_eq!(receive(&edge, &two, MX, 0), expected);
    let clock = ManualClock::new();
    assert!(matches!(waiting.proceed(&edge, &clock as &dyn Clock).await, Reaction::Ask(_)));
    assert_eq!(edge.waiting(), 0);
    assert!(short(settled(&edge, &two).await).starts_with("ask"));
}
