//! A disk that fails, and a store that is gone.

use mesh_core::store::StoreErrorKind;
use tokio::sync::oneshot;

use super::*;
use crate::key::Digest;
use crate::writer::Outlives;

impl Store {
    /// Lets the file have so many pages.
    pub(super) async fn pages(&self, most: i64) -> i64 {
        let limit = move |tables: &mut crate::writer::Tables<'_>| {
            tables.file.pragma_update_and_check(None, "max_page_count", most, |row| row.get(0))
        };
        self.writer().ask(Outlives::Kill, Digest::default(), limit).await.unwrap()
    }
}

#[tokio::test]
async fn a_full_disk_fails_the_call_and_loses_nothing() {
    let bed = Bed::new();
    let store = bed.open().await;
    handle(&store, "first").await;
    // As the database says it of a disk that has no room.
    let pages = store.pages(1).await;
    let mut noted = Vec::new();
    let full = loop {
        let event = format!("more {}", noted.len());
        match store.begin(&key(&event)).await {
            Ok(known) => assert_eq!(known, Handled::No),
            Err(error) => break error,
        }
        noted.push(event);
    };
    assert_eq!(full.kind(), StoreErrorKind::Full, "{full}");
    assert!(full.may_retry());
    assert_eq!(store.begin(&key("first")).await.unwrap(), Handled::Yes, "it can still say");
    assert_eq!(store.handled_counts().remembered, 1 + noted.len() as u64);

    store.pages(pages + 1000).await;
    handle(&store, format!("more {}", noted.len())).await;
    for event in noted {
        assert_eq!(store.begin(&key(event)).await.unwrap(), Handled::Interrupted);
    }
}

#[tokio::test]
async fn of_calls_that_fail_together_none_is_noted_and_the_counts_say_so() {
    let bed = Bed::new();
    let store = bed.open().await;
    handle(&store, "first").await;
    let pages = store.pages(1).await;
    let (stalled, go) = stall(&store).await;
    let together = (0..200).map(|number| {
        let store = store.clone();
        tokio::spawn(async move { store.begin(&key(number)).await })
    });
    let together: Vec<_> = together.collect();
    for _ in 0..together.len() {
        // Each waits for the thread by then.
        tokio::task::yield_now().await;
    }
    go.send(()).unwrap();
    stalled.await.unwrap();
    for call in together {
        assert_eq!(call.await.unwrap().unwrap_err().kind(), StoreErrorKind::Full);
    }
    assert_eq!(store.handled_counts().remembered, 1);
    store.pages(pages + 1000).await;
    for number in 0..200 {
        assert_eq!(store.begin(&key(number)).await.unwrap(), Handled::No, "{number}");
    }
    assert_eq!(store.handled_counts().remembered, 201);
}

#[tokio::test]
async fn a_call_after_the_close_is_unavailable() {
    let bed = Bed::new();
    let store = bed.open().await;
    let clone = store.clone();
    store.close().await;
    clone.close().await;
    let error = clone.record(key(1)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
}

#[tokio::test]
async fn what_was_to_be_recorded_is_though_nobody_waits_and_the_store_is_dropped() {
    let bed = Bed::new();
    let store = bed.open().await;
    let (stalled, go) = stall(&store).await;
    let left = tokio::spawn({
        let store = store.clone();
        async move { store.record(key(1)).await }
    });
    tokio::task::yield_now().await;
    for task in [left.abort_handle(), stalled.abort_handle()] {
        task.abort();
    }
    assert!(left.await.unwrap_err().is_cancelled() && stalled.await.unwrap_err().is_cancelled());
    drop(store);
    go.send(()).unwrap();
    let due = std::time::Instant::now() + 30 * SECOND;
    let store = loop {
        let clock = Arc::new(bed.clock.clone());
        match Store::open(bed.path(), clock, StoreOptions::default()).await {
            Ok(store) => break store,
            Err(error) => assert!(std::time::Instant::now() < due, "{error}"),
        }
    };
    assert_eq!(known(&store, 1).await, Handled::Yes);
}

#[tokio::test]
async fn a_beginning_that_nobody_waits_for_any_more_is_not_noted() {
    let bed = Bed::new();
    let store = bed.open().await;
    let (stalled, go) = stall(&store).await;
    let given_up = tokio::spawn({
        let store = store.clone();
        async move { store.begin(&key(1)).await }
    });
    tokio::task::yield_now().await;
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    go.send(()).unwrap();
    stalled.await.unwrap();
    assert_eq!(store.begin(&key(1)).await.unwrap(), Handled::No);
}

/// Returns when the thread waits for the word to go on.
pub(super) async fn stall(
    store: &Store,
) -> (tokio::task::JoinHandle<()>, std::sync::mpsc::Sender<()>) {
    let ((go, wait), (reached, there)) = (std::sync::mpsc::channel(), oneshot::channel());
    let (store, mut reached) = (store.clone(), Some(reached));
    let stalled = tokio::spawn(async move {
        let stalling = move |_: &mut crate::writer::Tables<'_>| {
            reached.take().unwrap().send(()).unwrap();
            wait.recv().unwrap();
            Ok(())
        };
        store.writer().ask(Outlives::Kill, Digest::default(), stalling).await.unwrap();
    });
    there.await.unwrap();
    (stalled, go)
}
