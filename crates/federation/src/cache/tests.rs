use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mesh_testkit::clock::ManualClock;

use super::*;

#[derive(Debug, Clone, PartialEq)]
enum Failure {
    Busy,
    Down,
}

impl From<Busy> for Failure {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn cache(clock: &ManualClock) -> Cache<u32, Failure> {
    let limits = Limits {
        realms: NonZeroUsize::new(2).unwrap(),
        flights: 2,
        waiting: (5, 3),
        kept: (10 * SECOND, 100 * SECOND),
        failed: 5 * SECOND,
        again: 3 * SECOND,
    };
    Cache::new(Arc::new(clock.clone()), limits)
}

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

fn figure(cache: &Cache<u32, Failure>, name: &str) -> u64 {
    cache.figures().into_iter().find(|(of, _)| *of == name).unwrap().1
}

async fn answer(value: u32, seconds: u32) -> Result<(u32, Duration), Failure> {
    Ok((value, seconds * SECOND))
}

fn yes() -> bool {
    true
}

async fn down() -> Result<(u32, Duration), Failure> {
    Err(Failure::Down)
}

#[tokio::test]
async fn an_answer_is_kept_for_its_time_and_no_longer() {
    let clock = ManualClock::new();
    let cache = cache(&clock);
    let a = realm("a");
    assert_eq!(*cache.get(&a, Freshness::Kept, yes, || answer(1, 20)).await.unwrap(), 1);
    clock.advance(19 * SECOND).await;
    assert_eq!(*cache.get(&a, Freshness::Kept, yes, || answer(2, 20)).await.unwrap(), 1);
    clock.advance(SECOND).await;
    assert_eq!(*cache.get(&a, Freshness::Kept, yes, || answer(3, 20)).await.unwrap(), 3);
}

#[tokio::test]
async fn what_an_answer_says_of_its_time_is_held_within_limits() {
    let clock = ManualClock::new();
    let cache = cache(&clock);
    let (a, b) = (realm("a"), realm("b"));
    cache.get(&a, Freshness::Kept, yes, || answer(1, 0)).await.unwrap();
    cache.get(&b, Freshness::Kept, yes, || answer(1, 100_000)).await.unwrap();
    clock.advance(9 * SECOND).await;
    assert_eq!(*cache.get(&a, Freshness::Kept, yes, || answer(2, 0)).await.unwrap(), 1);
    clock.advance(91 * SECOND).await;
    assert_eq!(*cache.get(&b, Freshness::Kept, yes, || answer(2, 0)).await.unwrap(), 2);
}

#[tokio::test]
async fn a_failure_is_remembered_shortly() {
    let clock = ManualClock::new();
    let cache = cache(&clock);
    let a = realm("a");
    assert_eq!(cache.get(&a, Freshness::Kept, yes, down).await, Err(Failure::Down));
    clock.advance(4 * SECOND).await;
    assert_eq!(cache.get(&a, Freshness::Kept, yes, || answer(1, 20)).await, Err(Failure::Down));
    clock.advance(SECOND).await;
    assert_eq!(*cache.get(&a, Freshness::Kept, yes, || answer(2, 20)).await.unwrap(), 2);
}

#[tokio::test]
async fn a_renewal_is_made_once_in_a_while_and_its_failure_loses_nothing() {
    let clock = ManualClock::new();
    let cache = cache(&clock);
    let a = realm("a");
    cache.get(&a, Freshness::Kept, yes, || answer(1, 100)).await.unwrap();
    // Asked a moment ago.
    assert_eq!(*cache.get(&a, Freshness::Anew, yes, || answer(2, 100)).await.unwrap(), 1);
    clock.advance(3 * SECOND).await;
    assert_eq!(*cache.get(&a, Freshness::Anew, yes, down).await.unwrap(), 1);
    // Neither is a failed one repeated at once.
    assert_eq!(*cache.get(&a, Freshness::Anew, yes, || answer(3, 100)).await.unwrap(), 1);
    clock.advance(3 * SECOND).await;
    assert_eq!(*cache.get(&a, Freshness::Anew, yes, || answer(4, 100)).await.unwrap(), 4);
}

#[tokio::test]
async fn a_realm_is_asked_once_however_many_want_it() {
    let clock = ManualClock::new();
    let cache = Arc::new(cache(&clock));
    let asked = Arc::new(AtomicUsize::new(0));
    let (open, gate) = tokio::sync::watch::channel(false);
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let (cache, asked, mut gate) = (Arc::clone(&cache), Arc::clone(&asked), gate.clone());
            tokio::spawn(async move {
                cache
                    .get(&realm("a"), Freshness::Kept, yes, || async move {
                        asked.fetch_add(1, Ordering::SeqCst);
                        gate.wait_for(|open| *open).await.unwrap();
                        answer(7, 20).await
                    })
                    .await
            })
        })
        .collect();
    clock.advance(SECOND).await;
    // A fourth has no room to wait.
    assert_eq!(
        cache.get(&realm("a"), Freshness::Kept, yes, || answer(1, 1)).await,
        Err(Failure::Busy)
    );
    open.send_replace(true);
    for caller in callers {
        assert_eq!(*caller.await.unwrap().unwrap(), 7);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert_eq!((figure(&cache, "flights"), figure(&cache, "busy")), (0, 1));
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_nothing_and_the_next_one_asks() {
    let clock = ManualClock::new();
    let cache = Arc::new(cache(&clock));
    let first = tokio::spawn({
        let cache = Arc::clone(&cache);
        async move { cache.get(&realm("a"), Freshness::Kept, yes, std::future::pending).await }
    });
    clock.advance(SECOND).await;
    let second = tokio::spawn({
        let cache = Arc::clone(&cache);
        async move { cache.get(&realm("a"), Freshness::Kept, yes, || answer(2, 20)).await }
    });
    clock.advance(SECOND).await;
    first.abort();
    assert_eq!(*second.await.unwrap().unwrap(), 2);
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!((figure(&cache, "flights"), cache.table.lock().waiting), (0, 0));
}

#[tokio::test]
async fn failures_push_out_no_answer_and_no_more_realms_are_kept_than_allowed() {
    let clock = ManualClock::new();
    let cache = cache(&clock);
    for good in ["a", "b"] {
        cache.get(&realm(good), Freshness::Kept, yes, || answer(1, 50)).await.unwrap();
    }
    for n in 0..50 {
        let _ = cache.get(&realm(&format!("x{n}")), Freshness::Kept, yes, down).await;
    }
    for good in ["a", "b"] {
        assert_eq!(*cache.get(&realm(good), Freshness::Kept, yes, down).await.unwrap(), 1);
    }
    assert!(cache.table.lock().bad.len() <= 2);
    cache.get(&realm("c"), Freshness::Kept, yes, || answer(1, 50)).await.unwrap();
    assert_eq!(figure(&cache, "realms"), 2);
}

#[test]
fn a_budget_is_spent_and_fills_again() {
    let budget = Budget::new(2, SECOND);
    let mut now = Duration::from_millis(5500);
    assert_eq!([(); 3].map(|()| budget.take(now)), [true, true, false]);
    now += SECOND;
    assert_eq!([(); 2].map(|()| budget.take(now)), [true, false]);
    now += 60 * SECOND;
    assert_eq!([(); 3].map(|()| budget.take(now)), [true, true, false]);
}

#[tokio::test]
async fn what_may_not_be_asked_is_not_and_what_is_kept_still_serves() {
    let clock = ManualClock::new();
    let cache = cache(&clock);
    let a = realm("a");
    let refused = cache.get(&a, Freshness::Kept, || false, || answer(1, 20)).await;
    assert_eq!(refused, Err(Failure::Busy));
    assert_eq!(*cache.get(&a, Freshness::Kept, yes, || answer(2, 20)).await.unwrap(), 2);
    clock.advance(5 * SECOND).await;
    let kept = cache.get(&a, Freshness::Anew, || false, || answer(3, 20)).await;
    assert_eq!(*kept.unwrap(), 2);
}

#[tokio::test]
async fn no_room_is_not_remembered_as_a_failure() {
    let clock = ManualClock::new();
    let cache = cache(&clock);
    let a = realm("a");
    let busy = || async { Err(Failure::Busy) };
    assert_eq!(cache.get(&a, Freshness::Kept, yes, busy).await, Err(Failure::Busy));
    assert_eq!(*cache.get(&a, Freshness::Kept, yes, || answer(1, 20)).await.unwrap(), 1);
}

#[tokio::test]
async fn who_waits_for_one_realm_leaves_room_for_others() {
    let clock = ManualClock::new();
    let cache = Arc::new(cache(&clock));
    let slow: Vec<_> = (0..3)
        .map(|_| {
            let cache = Arc::clone(&cache);
            tokio::spawn(async move {
                cache.get(&realm("a"), Freshness::Kept, yes, std::future::pending).await
            })
        })
        .collect();
    clock.advance(SECOND).await;
    let refused = cache.get(&realm("a"), Freshness::Kept, yes, || answer(1, 20)).await;
    assert_eq!(refused, Err(Failure::Busy));
    let other = cache.get(&realm("b"), Freshness::Kept, yes, || answer(2, 20)).await;
    assert_eq!(*other.unwrap(), 2);
    for waiting in slow {
        waiting.abort();
    }
}
