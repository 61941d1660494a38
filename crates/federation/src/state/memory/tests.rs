use mesh_testkit::clock::ManualClock;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn key(text: impl AsRef<str>) -> StoreKey {
    StoreKey::new(text).unwrap()
}

async fn put(state: &InMemoryState, name: &str, value: &'static str) -> Result<(), StoreError> {
    lasting(state, name, value, MINUTE).await
}

async fn lasting(
    state: &InMemoryState,
    name: &str,
    value: &'static str,
    lifetime: Duration,
) -> Result<(), StoreError> {
    let written = state.write(&key(name), value.into(), lifetime, Expected::Any).await?;
    assert!(matches!(written, Written::Done(_)));
    Ok(())
}

#[tokio::test]
async fn the_bytes_of_keys_and_values_are_bounded_and_come_back() {
    let clock = ManualClock::new();
    let limits = StateLimits { bytes: 10, ..StateLimits::default() };
    let state = InMemoryState::new(Arc::new(clock.clone()), limits);
    put(&state, "a", "12345678").await.unwrap();
    let full = put(&state, "b", "1").await.unwrap_err();
    assert_eq!((full.kind(), full.may_retry()), (StoreErrorKind::Full, true));
    assert_eq!(put(&state, "a", "1234567890").await.unwrap_err().kind(), StoreErrorKind::Full);
    put(&state, "a", "123456789").await.unwrap();
    put(&state, "a", "1").await.unwrap();
    put(&state, "b", "1").await.unwrap();
    assert_eq!(state.usage(), MemoryUsage { entries: 2, bytes: 4 });
    clock.advance(MINUTE).await;
    assert_eq!(state.usage().entries, 2);
    assert_eq!(state.reclaim(), 2);
    assert_eq!(state.usage(), MemoryUsage { entries: 0, bytes: 0 });
}

#[tokio::test]
async fn a_lifetime_is_over_to_the_nanosecond_and_one_without_end_is_none() {
    let clock = ManualClock::new();
    let state = InMemoryState::new(Arc::new(clock.clone()), StateLimits::default());
    put(&state, "a", "1").await.unwrap();
    lasting(&state, "b", "1", Duration::MAX).await.unwrap();
    clock.advance(MINUTE - Duration::from_nanos(1)).await;
    assert!(state.read(&key("a")).await.unwrap().is_some());
    clock.advance(Duration::from_nanos(1)).await;
    assert_eq!(state.read(&key("a")).await.unwrap(), None);
    clock.advance(MINUTE * 1_000_000).await;
    assert!(state.read(&key("b")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_watch_holds_no_bucket_and_sleeps_no_longer_than_it_is_read() {
    use futures_util::StreamExt as _;

    let clock = ManualClock::new();
    let state = InMemoryState::new(Arc::new(clock.clone()), StateLimits::default());
    put(&state, "a", "1").await.unwrap();
    let mut changes = state.watch().await.unwrap();
    changes.next().await.unwrap().unwrap();
    changes.next().await.unwrap().unwrap();
    let reading = tokio::spawn(async move { changes.next().await });
    clock.sleepers(1).await;
    drop(state);
    let end = reading.await.unwrap().unwrap().unwrap_err();
    assert_eq!(end.to_string(), "store: unavailable (the bucket is gone)");
    assert_eq!(clock.asleep(), 0);
}
