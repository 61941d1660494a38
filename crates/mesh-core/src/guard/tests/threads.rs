use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;

#[test]
fn of_two_threads_with_the_same_id_exactly_one_passes() {
    const IDS: usize = 2_000;
    let mut guards = EdgeGuards::new(realm("acme.com"), SECRET);
    guards.rate.per_realm = Quota::new(u32::MAX, 1).unwrap();
    guards.rate.total = None;
    let chain = GuardChain::standard(guards).build();
    let passed: Vec<AtomicUsize> = (0..IDS).map(|_| AtomicUsize::new(0)).collect();
    let start = Barrier::new(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                for (n, passed) in passed.iter().enumerate() {
                    let id = n.to_string();
                    if chain.check(&command("a", &id), at(0)).outcome.is_pass() {
                        passed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert!(passed.iter().all(|n| n.load(Ordering::Relaxed) == 1));
    let replay = chain.counters().of("replay").cloned().unwrap();
    assert_eq!((replay.passed, replay.refused), (IDS as u64, IDS as u64));
}

#[test]
fn threads_that_fill_the_pool_and_reclaim_it_do_not_lock_each_other_out() {
    const PLACES: usize = 64;
    let replay = Replay::new(
        ReplayLimits {
            pool: PLACES,
            lifetime: Duration::from_millis(1),
            ..ReplayLimits::default()
        },
        SECRET,
    );
    thread::scope(|scope| {
        for worker in 0..4_usize {
            let replay = &replay;
            scope.spawn(move || {
                for n in 0..5_000_u64 {
                    let name = format!("r{worker}-{n}");
                    let inbound = command(&name, "m");
                    let verdict = replay.check(&inbound, at(n / 50));
                    if let Verdict::Reserved(reservation) = verdict
                        && n % 3 == 0
                    {
                        replay.release(&inbound, reservation);
                    }
                }
            });
        }
    });
    replay.reclaim(at(10_000));
    assert_eq!(replay.usage().marks, 0);
    // Every place came back: as many new ids fit as there are places.
    let names: Vec<String> = (0..100).map(|n| format!("after-{n}")).collect();
    let fit = names
        .iter()
        .filter(|name| {
            matches!(replay.check(&command(name, "m"), at(20_000)), Verdict::Reserved(_))
        })
        .count();
    assert_eq!(fit, PLACES);
}
