//! What a store knows of an event, in one process and in the next.

use mesh_core::time::Timestamp;

use super::failing::stall;
use super::*;

#[tokio::test]
async fn what_was_handled_is_known_in_the_next_process() {
    let bed = Bed::new();
    let store = bed.open().await;
    handle(&store, 1).await;
    store.close().await;
    let store = bed.open().await;
    assert_eq!(known(&store, 1).await, Handled::Yes);
    assert_eq!(known(&store, 2).await, Handled::No);
}

#[tokio::test]
async fn what_was_begun_and_no_more_is_interrupted_until_it_is_handled() {
    let bed = Bed::new();
    for expected in [Handled::No, Handled::Interrupted, Handled::Interrupted] {
        let store = bed.open().await;
        assert_eq!(store.begin(&key(1)).await.unwrap(), expected);
        store.close().await;
    }
    let store = bed.open().await;
    handle(&store, 1).await;
    assert_eq!(known(&store, 1).await, Handled::Yes);
}

#[tokio::test]
async fn a_run_that_failed_is_forgotten_and_one_that_was_recorded_is_not() {
    let bed = Bed::new();
    let store = bed.open().await;
    store.begin(&key(1)).await.unwrap();
    store.forget(&key(1)).await.unwrap();
    assert_eq!(known(&store, 1).await, Handled::No);
    handle(&store, 1).await;
    store.forget(&key(1)).await.unwrap();
    assert_eq!(known(&store, 1).await, Handled::Yes);
    assert_eq!(store.handled_counts().remembered, 1);
}

#[tokio::test]
async fn each_part_of_a_key_counts() {
    let bed = Bed::new();
    let store = bed.open().await;
    handle(&store, 1).await;
    let others = [
        HandledKey { consumer: "n2_audit".parse().unwrap(), ..key(1) },
        HandledKey { handler: filter("mail.*"), ..key(1) },
        HandledKey { module: module_name("ledger"), ..key(1) },
        // As one text it is the same.
        HandledKey { module: module_name("mai"), ..key("l1") },
        key(2),
    ];
    for other in others {
        assert_eq!(store.begin(&other).await.unwrap(), Handled::No, "{other:?}");
    }
}

#[tokio::test]
async fn many_at_a_time_are_all_recorded() {
    let bed = Bed::new();
    let store = bed.open().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..3000 {
        let store = store.clone();
        tasks.spawn(async move { handle(&store, number).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(store.handled_counts().remembered, 3000);
    store.close().await;
    let store = bed.open().await;
    for number in 0..3000 {
        assert_eq!(known(&store, number).await, Handled::Yes, "{number}");
    }
}

#[tokio::test]
async fn what_is_over_is_forgotten_and_its_room_is_anothers() {
    let bed = Bed::new();
    let store = bed.bounded(10 * SECOND, 1000).await;
    for number in 0..100 {
        handle(&store, number).await;
    }
    bed.clock.advance(9 * SECOND).await;
    assert_eq!(known(&store, 0).await, Handled::Yes);
    store.record(key(1)).await.unwrap();
    bed.clock.advance(SECOND).await;
    assert_eq!(known(&store, 0).await, Handled::No);
    assert_eq!(known(&store, 1).await, Handled::Yes, "recorded again meanwhile");
    // Traffic of other keys.
    handle(&store, "other").await;
    assert_eq!(store.handled_counts().remembered, 2);
    assert_eq!(store.handled_counts().evicted, 0);
}

#[tokio::test]
async fn a_time_away_counts() {
    let bed = Bed::new();
    let store = bed.bounded(10 * SECOND, 10).await;
    handle(&store, 1).await;
    store.begin(&key(2)).await.unwrap();
    store.close().await;
    bed.clock.advance(10 * SECOND).await;
    let store = bed.bounded(10 * SECOND, 10).await;
    assert_eq!(known(&store, 1).await, Handled::No);
    assert_eq!(known(&store, 2).await, Handled::No);
}

/// A wall that says so, and a measured time that goes on.
#[derive(Debug)]
struct Wall(ManualClock, std::sync::atomic::AtomicI64);

#[async_trait::async_trait]
impl mesh_core::port::Clock for Wall {
    fn now(&self) -> Timestamp {
        let moved = self.1.load(std::sync::atomic::Ordering::Relaxed);
        Timestamp::from_millis(self.0.now().as_millis() + moved)
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        self.0.sleep(duration).await;
    }
}

#[tokio::test]
async fn a_wall_clock_that_is_set_back_neither_forgets_nor_keeps_for_ever() {
    const YEAR: i64 = 365 * 24 * 3_600_000;
    let bed = Bed::new();
    let wall = Arc::new(Wall(bed.clock.clone(), 0.into()));
    let set = |moved| wall.1.store(moved, std::sync::atomic::Ordering::Relaxed);
    let handled = HandledBounds { window: 10 * SECOND, capacity: 10 };
    let options = StoreOptions { handled, ..StoreOptions::default() };
    let open = async || Store::open(bed.path(), Arc::clone(&wall) as _, options).await.unwrap();

    // In one process the wall's jumps mean nothing.
    let store = open().await;
    handle(&store, 1).await;
    for moved in [-YEAR, YEAR] {
        set(moved);
        bed.clock.advance(4 * SECOND).await;
        assert_eq!(known(&store, 1).await, Handled::Yes);
    }
    bed.clock.advance(2 * SECOND).await;
    assert_eq!(known(&store, 1).await, Handled::No);

    // What was written while the wall was a year ahead is kept for its time once it is right again.
    store.close().await;
    let store = open().await;
    handle(&store, 2).await;
    store.close().await;
    set(0);
    let store = open().await;
    bed.clock.advance(9 * SECOND).await;
    assert_eq!(known(&store, 2).await, Handled::Yes);
    bed.clock.advance(SECOND).await;
    assert_eq!(known(&store, 2).await, Handled::No);
}

#[tokio::test]
async fn events_are_remembered_for_as_long_as_their_stream_keeps_one() {
    use mesh_core::topology::{StreamName, Topology};

    let topology = Topology::new();
    let kept = topology.stream(StreamName::Events).unwrap().max_age;
    assert_eq!(Some(HandledBounds::default().window), kept);
}

#[tokio::test]
async fn who_asks_after_a_run_was_recorded_hears_of_it_though_both_are_written_together() {
    let bed = Bed::new();
    let store = bed.open().await;
    store.begin(&key(1)).await.unwrap();
    let (stalled, go) = stall(&store).await;
    // Who records may leave: that it is handled is true all the same.
    let recording = tokio::spawn({
        let store = store.clone();
        async move { store.record(key(1)).await }
    });
    tokio::task::yield_now().await;
    let others = tokio::spawn({
        let store = store.clone();
        async move { (store.begin(&key(1)).await, store.begin(&key(2)).await) }
    });
    tokio::task::yield_now().await;
    recording.abort();
    go.send(()).unwrap();
    stalled.await.unwrap();
    let (one, two) = others.await.unwrap();
    assert_eq!((one.unwrap(), two.unwrap()), (Handled::Yes, Handled::No));
}
