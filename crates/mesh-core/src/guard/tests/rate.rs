use super::*;

fn limits(per_realm: (u32, u32), total: Option<(u32, u32)>) -> RateLimits {
    let quota = |(burst, per_second)| Quota::new(burst, per_second).unwrap();
    RateLimits { per_realm: quota(per_realm), total: total.map(quota), ..RateLimits::default() }
}

fn passed(guard: &Rate, from: &str, times: usize, now: Now) -> usize {
    (0..times).filter(|_| guard.check(&command(from, "m"), now) == Verdict::Pass).count()
}

#[test]
fn a_quota_of_nothing_is_none() {
    assert_eq!(Quota::new(0, 1), None);
    assert_eq!(Quota::new(1, 0), None);
}

#[test]
fn a_burst_passes_and_then_so_many_a_second() {
    let guard = Rate::new(&limits((5, 10), None), SECRET);
    assert_eq!(passed(&guard, "a", 9, at(1_000)), 5);
    assert_eq!(passed(&guard, "a", 9, at(1_099)), 0);
    assert_eq!(passed(&guard, "a", 9, at(1_100)), 1);
    assert_eq!(passed(&guard, "a", 9, at(1_400)), 3);
    assert_eq!(passed(&guard, "a", 9, at(60_000)), 5);
    assert_eq!(passed(&guard, "b", 9, at(60_000)), 5);
}

#[test]
fn an_awaited_answer_takes_neither_token_nor_mark() {
    let rate = Rate::new(&limits((1, 1), Some((1, 1))), SECRET);
    let replay = Replay::new(ReplayLimits { per_realm: 1, pool: 1, ..<_>::default() }, SECRET);
    let answer = Inbound { kind: MsgType::Result, awaited: true, ..command("a", "m") };
    for _ in 0..9 {
        assert_eq!(rate.check(&answer, at(0)), Verdict::Pass);
        assert_eq!(replay.check(&answer, at(0)), Verdict::Pass);
    }
    // Another that nobody waits for is held to all limits, and what it takes is still there.
    let other = Inbound { awaited: false, ..answer };
    assert_eq!(rate.check(&other, at(0)), Verdict::Pass);
    assert!(matches!(replay.check(&other, at(0)), Verdict::Reserved(_)));
    assert!(matches!(rate.check(&other, at(0)), Verdict::Refuse(_)));
    assert!(matches!(replay.check(&other, at(0)), Verdict::Refuse(_)));
}

#[test]
fn a_refusal_has_its_code_and_says_when_to_come_again() {
    let guard = Rate::new(&limits((1, 3), None), SECRET);
    assert_eq!(passed(&guard, "a", 1, at(0)), 1);
    let refusal = refusal(guard.check(&command("a", "m"), at(100)));
    assert_eq!(refusal.code(), Some("MX.EDGE.RATE_LIMITED"));
    assert_eq!(refusal.reason(), "this realm sends too fast; a token in 234 ms");
    assert_eq!(passed(&guard, "a", 1, at(333)), 0);
    assert_eq!(passed(&guard, "a", 1, at(334)), 1);
}

#[test]
fn a_listed_realm_has_its_own_limit() {
    let mut limits = limits((1, 1), None);
    limits.listed.insert(realm("partner.org"), Quota::new(7, 1).unwrap());
    let guard = Rate::new(&limits, SECRET);
    assert_eq!(passed(&guard, "partner.org", 9, at(0)), 7);
    assert_eq!(passed(&guard, "other.org", 9, at(0)), 1);
}

#[test]
fn all_realms_together_have_a_limit_that_a_flooding_realm_cannot_use_up() {
    let guard = Rate::new(&limits((3, 1), Some((5, 1))), SECRET);
    assert_eq!(passed(&guard, "flooder", 1_000, at(0)), 3);
    assert_eq!(passed(&guard, "a", 2, at(0)), 2);
    let refused = guard.check(&command("b", "m"), at(0));
    assert_eq!(refusal(refused).reason(), "all realms send too fast; a token in 1000 ms");
    assert_eq!(figure(&guard, "realm_refused"), 997);
    assert_eq!(figure(&guard, "total_refused"), 1);
}

#[test]
fn a_full_table_refuses_new_realms_and_evicts_none() {
    let mut limits = limits((2, 1), None);
    limits.max_realms = 100;
    limits.listed.insert(realm("partner.org"), Quota::new(1, 1).unwrap());
    let guard = Rate::new(&limits, SECRET);
    assert_eq!(passed(&guard, "victim", 9, at(0)), 2);
    let names: Vec<String> = (0..5_000).map(|n| format!("invented-{n}")).collect();
    let inside = names.iter().filter(|name| passed(&guard, name, 1, at(1)) == 1);
    assert_eq!(inside.count(), 99);
    assert_eq!(passed(&guard, "victim", 9, at(1)), 0);
    let refused = guard.check(&command("new", "m"), at(1));
    assert_eq!(refusal(refused).reason(), "too many realms send at once");
    assert_eq!(figure(&guard, "realms"), 100);
    assert_eq!(figure(&guard, "table_full"), 4_902);
    assert_eq!(passed(&guard, "partner.org", 1, at(1)), 1);
    // All but the victim have refilled, and make room.
    assert_eq!(passed(&guard, "new", 1, at(1_001)), 1);
    assert_eq!(passed(&guard, "victim", 9, at(1_001)), 1);
}

#[test]
fn refilled_buckets_are_reclaimed_without_traffic() {
    let guard = Rate::new(&limits((10, 1), None), SECRET);
    passed(&guard, "a", 10, at(0));
    passed(&guard, "b", 1, at(0));
    assert_eq!(guard.reclaim(at(999)), 0);
    assert_eq!(guard.reclaim(at(1_000)), 1);
    assert_eq!(guard.reclaim(at(10_000)), 1);
    assert_eq!(figure(&guard, "realms"), 0);
}

#[test]
fn time_that_goes_back_or_to_the_end_refills_nothing_and_does_not_overflow() {
    let guard = Rate::new(&limits((1, 1), Some((u32::MAX, 1))), SECRET);
    assert_eq!(passed(&guard, "a", 9, at(5_000)), 1);
    assert_eq!(passed(&guard, "a", 9, at(0)), 0);
    let end = Now { monotonic: Duration::MAX, ..at(0) };
    assert_eq!(passed(&guard, "a", 9, end), 1);
    assert_eq!(passed(&guard, "a", 9, end), 0);
}

#[test]
fn a_table_without_places_refuses_all_but_the_listed() {
    let mut limits = limits((1, 1), None);
    limits.max_realms = 0;
    let guard = Rate::new(&limits, SECRET);
    assert_eq!(passed(&guard, "a", 1, at(0)), 0);
}
