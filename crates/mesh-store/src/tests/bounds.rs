//! What goes where there is no room.

use super::*;

#[tokio::test]
async fn beyond_the_count_the_oldest_goes_and_is_counted() {
    let bed = Bed::new();
    let store = bed.bounded(1000 * SECOND, 100).await;
    for number in 0..150 {
        handle(&store, number).await;
    }
    let counts = store.handled_counts();
    assert_eq!((counts.remembered, counts.evicted), (100, 50));
    assert_eq!(known(&store, 149).await, Handled::Yes);
    assert_eq!(known(&store, 51).await, Handled::Yes);
    assert_eq!(known(&store, 49).await, Handled::No);
}

#[tokio::test]
async fn what_is_recorded_again_is_not_the_oldest() {
    let bed = Bed::new();
    let store = bed.bounded(1000 * SECOND, 2).await;
    for number in [1, 2] {
        handle(&store, number).await;
    }
    store.record(key(1)).await.unwrap();
    handle(&store, 3).await;
    assert_eq!(known(&store, 1).await, Handled::Yes);
}

#[tokio::test]
async fn beyond_the_bytes_the_oldest_goes_and_the_file_grows_no_more() {
    let bed = Bed::new();
    let max_bytes = 200_000;
    let store = bed.open_with(StoreOptions { max_bytes, ..StoreOptions::default() }).await;
    let mut last = 0;
    for round in 0..4 {
        for number in 0..1500 {
            // Not each by itself: that would wait for the disk each time.
            store.begin(&key(format!("{round}.{number}"))).await.unwrap();
        }
        let counts = store.handled_counts();
        assert!(counts.remembered < 4000, "{counts:?}");
        last = counts.evicted;
    }
    assert!(last > 2000, "{last}");
    assert_eq!(store.begin(&key("3.1499")).await.unwrap(), Handled::Interrupted);
    store.close().await;
    let bytes = std::fs::metadata(bed.path()).unwrap().len();
    assert!((max_bytes / 2..max_bytes * 5 / 4).contains(&bytes), "{bytes}");
}

#[tokio::test]
async fn smaller_bounds_hold_from_the_next_opening_on() {
    let bed = Bed::new();
    let store = bed.bounded(1000 * SECOND, 500).await;
    for number in 0..500 {
        store.begin(&key(number)).await.unwrap();
    }
    store.close().await;
    let store = bed.bounded(1000 * SECOND, 100).await;
    for number in 500..510 {
        handle(&store, number).await;
    }
    assert_eq!(store.handled_counts().remembered, 100);
    assert_eq!(known(&store, 509).await, Handled::Yes);
}
