use std::time::Duration;

use super::*;

#[test]
fn a_message_to_another_realm_is_refused() {
    let guard = Addressed::to(realm("acme.com"));
    let mut inbound = command("a", "m-1");
    assert_eq!(guard.check(&inbound, at(0)), Verdict::Pass);
    for other in ["acme.org", "Acme.com", "acme.com.", ""] {
        inbound.to_realm = Some(other);
        let refusal = refusal(guard.check(&inbound, at(0)));
        assert_eq!(refusal.reason(), "meant for another realm");
        assert_eq!(refusal.code(), None);
    }
}

#[test]
fn a_message_that_names_no_realm_is_meant_for_the_owner_of_the_mailbox() {
    let guard = Addressed::to(realm("acme.com"));
    let mut inbound = command("a", "m-1");
    inbound.to_realm = None;
    assert_eq!(guard.check(&inbound, at(0)), Verdict::Pass);
}

#[test]
fn a_message_lives_for_its_ttl_from_its_timestamp() {
    let guard = Expiry::default();
    let mut inbound = command("a", "m-1");
    inbound.timestamp = Some(Timestamp::from_millis(1_000));
    inbound.ttl_ms = Some(500);
    assert_eq!(guard.check(&inbound, at(0)), Verdict::Pass);
    assert_eq!(guard.check(&inbound, at(1_499)), Verdict::Pass);
    assert_eq!(refusal(guard.check(&inbound, at(1_500))).reason(), "expired");
    let lenient = Expiry::with_leeway(Duration::from_millis(100));
    assert_eq!(lenient.check(&inbound, at(1_599)), Verdict::Pass);
    assert_eq!(refusal(lenient.check(&inbound, at(1_600))).code(), None);
}

#[test]
fn without_both_timestamp_and_ttl_nothing_expires() {
    let guard = Expiry::default();
    let mut inbound = command("a", "m-1");
    inbound.ttl_ms = Some(0);
    assert_eq!(guard.check(&inbound, at(9_999)), Verdict::Pass);
    inbound.ttl_ms = None;
    inbound.timestamp = Some(Timestamp::from_millis(0));
    assert_eq!(guard.check(&inbound, at(9_999)), Verdict::Pass);
}

#[test]
fn absurd_times_neither_overflow_nor_wrap() {
    let guard = Expiry::with_leeway(Duration::MAX);
    let mut inbound = command("a", "m-1");
    inbound.timestamp = Some(Timestamp::from_millis(i64::MAX));
    inbound.ttl_ms = Some(u64::MAX);
    assert_eq!(guard.check(&inbound, at(0)), Verdict::Pass);
    inbound.timestamp = Some(Timestamp::from_millis(i64::MIN));
    inbound.ttl_ms = Some(0);
    let refused = Expiry::default().check(&inbound, at(0));
    assert_eq!(refusal(refused).reason(), "expired");
}

#[test]
fn an_answer_may_only_go_back_where_the_message_came_from() {
    let mut inbound = command("a", "m-1");
    assert_eq!(Relay.check(&inbound, at(0)), Verdict::Pass);
    inbound.reply_to_realm = None;
    assert_eq!(Relay.check(&inbound, at(0)), Verdict::Pass);
    for victim in ["b", "A", ""] {
        inbound.reply_to_realm = Some(victim);
        let refusal = refusal(Relay.check(&inbound, at(0)));
        assert_eq!(refusal.reason(), "the answer would go to another realm");
        assert_eq!(refusal.code(), None);
    }
    inbound.from_realm = None;
    inbound.reply_to_realm = Some("b");
    assert_eq!(refusal(Relay.check(&inbound, at(0))).code(), None);
}

#[test]
fn a_prefix_is_denied_up_to_the_end_of_a_part() {
    let policy = PrefixDeny::new(["admin", "sys/"]);
    let denied = |path| {
        let mut inbound = command("a", "m-1");
        inbound.to_path = Some(path);
        policy.rule(&inbound) != Ruling::Allow
    };
    for path in ["admin", "admin.accepts.stop", "admin/x.accepts.y", "sys/x.accepts.y"] {
        assert!(denied(path), "{path}");
    }
    for path in ["administration.accepts.x", "mail.accepts.admin", "system.accepts.x", "", "Admin"]
    {
        assert!(!denied(path), "{path}");
    }
    assert!(matches!(PrefixDeny::new([""]).rule(&command("a", "m")), Ruling::Deny(_)));
}

#[test]
fn a_denial_is_answered_with_its_code() {
    let guard = PolicyGuard::new(PrefixDeny::new(["mail"]));
    let refusal = refusal(guard.check(&command("a", "m-1"), at(0)));
    assert_eq!(refusal.code(), Some("MX.EDGE.POLICY_DENIED"));
    assert_eq!(refusal.reason(), "this path is closed to other realms");
}

#[test]
fn a_secret_is_not_shown() {
    assert_eq!(format!("{SECRET:?}"), "HashSecret(..)");
    let replay = Replay::new(ReplayLimits::default(), SECRET);
    let rate = Rate::new(&RateLimits::default(), SECRET);
    assert!(!format!("{replay:?}{rate:?}").contains("42, 42"));
}
