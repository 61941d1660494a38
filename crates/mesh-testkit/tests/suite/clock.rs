//! The manual clock.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::Clock as _;
use mesh_core::time::Timestamp;
use mesh_testkit::clock::ManualClock;
use parking_lot::Mutex;

const SECOND: Duration = Duration::from_secs(1);

type Log = Arc<Mutex<Vec<(&'static str, Duration)>>>;

/// Sleeps for each span in turn and notes when it woke.
fn sleeper(clock: &ManualClock, log: &Log, name: &'static str, spans: &[u64]) {
    let (clock, log, spans) = (clock.clone(), Arc::clone(log), spans.to_vec());
    tokio::spawn(async move {
        for span in spans {
            clock.sleep(SECOND * span as u32).await;
            log.lock().push((name, clock.monotonic()));
        }
    });
}

#[tokio::test]
async fn sleepers_wake_in_the_order_of_their_due_times_each_at_its_own() {
    let clock = ManualClock::new();
    let log = Log::default();
    sleeper(&clock, &log, "late", &[5]);
    sleeper(&clock, &log, "twice", &[1, 3]);
    sleeper(&clock, &log, "early", &[2]);
    clock.sleepers(3).await;
    clock.advance(SECOND * 10).await;
    let expected =
        [("twice", SECOND), ("early", SECOND * 2), ("twice", SECOND * 4), ("late", SECOND * 5)];
    assert_eq!(*log.lock(), expected);
    assert_eq!(clock.monotonic(), SECOND * 10);
}

#[tokio::test]
async fn those_of_one_time_wake_in_the_order_they_came() {
    let clock = ManualClock::new();
    let log = Log::default();
    for name in ["a", "b", "c"] {
        sleeper(&clock, &log, name, &[1]);
    }
    clock.sleepers(3).await;
    clock.advance(SECOND).await;
    let names: Vec<_> = log.lock().iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[tokio::test]
async fn nobody_wakes_early_and_a_dropped_sleeper_is_forgotten() {
    let clock = ManualClock::new();
    let sleep = {
        let clock = clock.clone();
        tokio::spawn(async move { clock.sleep(SECOND).await })
    };
    clock.sleepers(1).await;
    assert_eq!(clock.next_due(), Some(SECOND));
    clock.advance(SECOND - Duration::from_nanos(1)).await;
    assert!(!sleep.is_finished());
    sleep.abort();
    assert!(sleep.await.unwrap_err().is_cancelled());
    assert_eq!(clock.asleep(), 0);
}

#[tokio::test]
async fn a_sleep_for_no_time_is_over_at_once() {
    ManualClock::new().sleep(Duration::ZERO).await;
}

#[tokio::test]
async fn wall_time_moves_with_measured_time() {
    let clock = ManualClock::at(Timestamp::from_millis(1_000));
    clock.advance(SECOND * 3).await;
    assert_eq!(clock.now(), Timestamp::from_millis(4_000));
    let end = ManualClock::at(Timestamp::from_millis(i64::MAX));
    end.advance(Duration::MAX).await;
    assert_eq!(end.now(), Timestamp::from_millis(i64::MAX));
}

#[tokio::test]
async fn sleepers_waits_for_whoever_is_on_the_way() {
    let clock = ManualClock::new();
    let log = Log::default();
    let slow = (clock.clone(), Arc::clone(&log));
    tokio::spawn(async move {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        sleeper(&slow.0, &slow.1, "slow", &[1]);
    });
    clock.sleepers(1).await;
    clock.advance(SECOND).await;
    assert_eq!(log.lock().len(), 1);
}
