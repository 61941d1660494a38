use super::*;
use crate::mx::MsgType;

fn limits(per_realm: usize, pool: usize) -> ReplayLimits {
    ReplayLimits { per_realm, pool, ..ReplayLimits::default() }
}

fn passes(guard: &Replay, inbound: &Inbound<'_>, now: Now) -> bool {
    matches!(guard.check(inbound, now), Verdict::Reserved(_))
}

fn why(guard: &Replay, inbound: &Inbound<'_>, now: Now) -> String {
    refusal(guard.check(inbound, now)).reason().to_owned()
}

/// Case A17, with a capacity of 1,000 a realm and, in the second run, of 1,000 in all.
#[test]
fn a_flood_of_another_realm_does_not_reopen_an_id() {
    for (per_realm, pool, taken) in [(1_000, 2_000, 1_000), (1_000, 1_000, 999)] {
        let guard = Replay::new(limits(per_realm, pool), SECRET);
        assert!(passes(&guard, &command("victim", "m-1"), at(0)));
        let ids: Vec<String> = (0..5_000).map(|n| format!("fresh-{n}")).collect();
        let flood =
            ids.iter().filter(|id| passes(&guard, &command("flooder", id), at(1_000))).count();
        assert_eq!(flood, taken);
        assert_eq!(why(&guard, &command("victim", "m-1"), at(299_999)), "seen before");
        let usage = guard.usage();
        assert_eq!(usage.realm_full + usage.pool_full, 5_000 - taken as u64);
        assert_eq!((usage.marks, usage.realms, usage.replayed), (taken + 1, 2, 1));
        assert!(usage.bytes <= limits(per_realm, pool).bytes());
    }
}

#[test]
fn a_full_realm_leaves_room_for_others() {
    let guard = Replay::new(limits(2, 100), SECRET);
    assert!(passes(&guard, &command("a", "1"), at(0)));
    assert!(passes(&guard, &command("a", "2"), at(0)));
    assert_eq!(why(&guard, &command("a", "3"), at(0)), "too many ids of this realm");
    assert!(passes(&guard, &command("b", "3"), at(0)));
    assert_eq!(guard.usage().realm_full, 1);
}

#[test]
fn invented_realms_fill_the_pool_and_not_the_share_of_a_listed_realm() {
    let guard =
        Replay::new(ReplayLimits { listed: vec![realm("partner.org")], ..limits(10, 100) }, SECRET);
    let names: Vec<String> = (0..1_000).map(|n| format!("invented-{n}")).collect();
    let passed = names.iter().filter(|name| passes(&guard, &command(name, "m"), at(0))).count();
    assert_eq!(passed, 100);
    assert_eq!(why(&guard, &command("stranger", "m"), at(0)), "too many ids of all realms");
    for n in 0..10 {
        assert!(passes(&guard, &command("partner.org", &n.to_string()), at(0)));
    }
    assert_eq!(why(&guard, &command("partner.org", "10"), at(0)), "too many ids of this realm");
    assert_eq!(guard.usage().pool_full, 901);
}

#[test]
fn an_id_over_the_stated_length_is_refused() {
    let guard = Replay::new(ReplayLimits::default(), SECRET);
    assert!(passes(&guard, &command("a", &"x".repeat(256)), at(0)));
    for bytes in [257, 1 << 20] {
        assert_eq!(why(&guard, &command("a", &"x".repeat(bytes)), at(0)), "the id is too long");
    }
    assert_eq!((guard.usage().id_too_long, guard.usage().marks), (2, 1));
}

#[test]
fn an_id_may_come_again_when_its_lifetime_is_over() {
    let guard = Replay::new(ReplayLimits::default(), SECRET);
    assert!(passes(&guard, &command("a", "m-1"), at(0)));
    assert_eq!(why(&guard, &command("a", "m-1"), at(299_999)), "seen before");
    assert!(passes(&guard, &command("a", "m-1"), at(300_000)));
    assert_eq!(why(&guard, &command("a", "m-1"), at(300_001)), "seen before");
    assert_eq!(guard.usage().marks, 1);
}

#[test]
fn a_wall_clock_that_jumps_forgets_nothing() {
    let guard = Replay::new(ReplayLimits::default(), SECRET);
    assert!(passes(&guard, &command("a", "m-1"), at(0)));
    let jumped = Now { wall: Timestamp::from_millis(86_400_000), ..at(1) };
    assert_eq!(guard.reclaim(jumped), 0);
    assert_eq!(why(&guard, &command("a", "m-1"), jumped), "seen before");
}

#[test]
fn expired_marks_are_reclaimed_without_traffic_and_their_memory_too() {
    let guard = Replay::new(limits(100_000, 100_000), SECRET);
    let empty = guard.usage().bytes;
    for n in 0..50_000 {
        assert!(passes(&guard, &command("a", &n.to_string()), at(n)));
    }
    let full = guard.usage();
    assert!(full.bytes <= limits(100_000, 50_000).bytes(), "{full:?}");
    assert_eq!(guard.reclaim(at(299_999)), 0);
    assert_eq!(guard.reclaim(at(300_000 + 24_999)), 25_000);
    assert_eq!(guard.reclaim(at(900_000)), 25_000);
    let after = guard.usage();
    assert_eq!((after.marks, after.realms), (0, 0));
    assert!(after.bytes - empty <= 8_192, "{after:?}");
}

#[test]
fn a_backlog_of_expired_marks_makes_room_at_once() {
    let guard = Replay::new(limits(1_000, 1_000), SECRET);
    for n in 0..1_000 {
        assert!(passes(&guard, &command("a", &n.to_string()), at(0)));
    }
    // The pool is full of the expired marks of another realm, in another shard or the same one.
    for (n, name) in ["b", "c", "d", "a"].iter().enumerate() {
        assert!(passes(&guard, &command(name, "new"), at(300_000 + n as u64)));
    }
    assert_eq!(guard.usage().marks, 4);
}

#[test]
fn a_released_id_may_come_again() {
    let guard = Replay::new(limits(1, 1), SECRET);
    let inbound = command("a", "m-1");
    for now in 0..1_000 {
        let Verdict::Reserved(reservation) = guard.check(&inbound, at(now)) else {
            panic!("refused at {now}");
        };
        guard.release(&inbound, reservation);
    }
    assert_eq!((guard.usage().marks, guard.usage().realms), (0, 0));
    assert!(passes(&guard, &inbound, at(1_000)));
}

#[test]
fn a_late_release_does_not_forget_the_mark_of_another_delivery() {
    let guard = Replay::new(ReplayLimits::default(), SECRET);
    let inbound = command("a", "m-1");
    let Verdict::Reserved(first) = guard.check(&inbound, at(0)) else {
        panic!("refused");
    };
    assert!(passes(&guard, &inbound, at(300_000)));
    guard.release(&inbound, first);
    assert_eq!(why(&guard, &inbound, at(300_001)), "seen before");
}

/// The first and the last entry of the queue are always alive, so that released ones can't be cut
/// off its ends.
#[test]
fn releasing_and_reserving_at_a_standing_clock_does_not_grow_memory() {
    let limits = limits(4, 4);
    let guard = Replay::new(limits.clone(), SECRET);
    let reserve = |id: &str| match guard.check(&command("a", id), at(0)) {
        Verdict::Reserved(reservation) => reservation,
        other => panic!("{other:?}"),
    };
    let _front = reserve("front");
    let mut anchor = ("anchor".to_owned(), reserve("anchor"));
    for n in 0..20_000_u32 {
        let held = reserve("m-1");
        let id = n.to_string();
        let next = (id.clone(), reserve(&id));
        guard.release(&command("a", "m-1"), held);
        guard.release(&command("a", &anchor.0), anchor.1);
        anchor = next;
    }
    assert_eq!(guard.usage().marks, 2);
    assert!(guard.usage().bytes <= limits.bytes(), "{:?}", guard.usage());
}

#[test]
fn without_a_message_id_the_correlation_id_is_the_key() {
    let guard = Replay::new(ReplayLimits::default(), SECRET);
    let correlated =
        |kind, id| Inbound { kind, msg_id: None, correlation_id: Some(id), ..command("a", "") };
    assert!(passes(&guard, &correlated(MsgType::Cmd, "c-1"), at(0)));
    assert_eq!(why(&guard, &correlated(MsgType::Cmd, "c-1"), at(0)), "seen before");
    assert_eq!(why(&guard, &command("a", "c-1"), at(0)), "seen before");
    // Ours, and by chance the same as the one the realm chose for its own request.
    assert!(passes(&guard, &correlated(MsgType::Result, "c-1"), at(0)));
    assert_eq!(why(&guard, &correlated(MsgType::Nack, "c-1"), at(0)), "seen before");
    let mut nameless = correlated(MsgType::Result, "c-2");
    nameless.from_realm = None;
    assert!(passes(&guard, &nameless, at(0)));
    assert_eq!(why(&guard, &nameless, at(0)), "seen before");
}

#[test]
fn a_message_without_an_id_is_refused() {
    let guard = Replay::new(ReplayLimits::default(), SECRET);
    let mut inbound = command("a", "");
    assert_eq!(why(&guard, &inbound, at(0)), "no id");
    inbound.msg_id = None;
    assert_eq!(why(&guard, &inbound, at(0)), "no id");
    assert_eq!(guard.usage().no_id, 2);
}

#[test]
fn realm_and_id_do_not_run_into_each_other() {
    let guard = Replay::new(ReplayLimits::default(), SECRET);
    assert!(passes(&guard, &command("ab", "c"), at(0)));
    assert!(passes(&guard, &command("a", "bc"), at(0)));
    assert!(passes(&guard, &command("A", "bc"), at(0)));
    assert_eq!(guard.usage().realms, 3);
}

/// Each round fills the pool from another shard, while a mark of each earlier round stays alive:
/// tables that kept their largest size would add up.
#[test]
fn memory_stays_within_its_bound_when_invented_realms_come_and_go() {
    const POOL: usize = 4_000;
    let limits = limits(POOL, POOL);
    let guard = Replay::new(limits.clone(), SECRET);
    let mut most = 0;
    for round in 0..40_u64 {
        let now = at(round * 299_000);
        for n in 0..POOL {
            let name = if round % 4 == 0 {
                format!("invented-{round}-{n}")
            } else {
                format!("round-{round}")
            };
            let _ = guard.check(&command(&name, &n.to_string()), now);
            // The last one comes again at once, and keeps its shard from being empty.
            if n == 0 {
                let later = at(round * 299_000 + 298_000);
                let _ = guard.check(&command(&name, "late"), later);
            }
        }
        let usage = guard.usage();
        assert!(usage.marks <= POOL);
        assert!(usage.bytes <= limits.bytes(), "{usage:?}");
        most = most.max(usage.bytes);
    }
    assert!(most > 64 * POOL, "the tables were never full: {most}");
}
