use super::*;

#[tokio::test]
async fn a_lost_lease_that_is_refused_for_good_ends_the_watch_with_the_reason() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    shop.tell(&sink, "1").await;
    shop.notice(&sink, r#"{"kind":"ended","reason":"source-gone"}"#).await;
    bed.clock.advance(Duration::from_millis(500)).await;
    let came = shop.expect("subscribe").await;
    shop.answer(&came, Err(("MX.SUB.BAD_SOURCE", "gone"))).await;
    settle().await;
    assert_eq!(event(&mut watch).await, "1", "what came before it");
    assert_eq!(missed(&mut watch).await, 0);
    for _ in 0..2 {
        let Some(Seen::Ended(WatchEnd::Refused(error))) = seen(&mut watch).await else {
            panic!("not ended");
        };
        assert_eq!(error.to_string(), "MX.SUB.BAD_SOURCE: gone");
    }
}

#[tokio::test]
async fn a_lease_that_stays_lost_ends_the_watch_when_patience_is_over() {
    let patience = Duration::from_secs(120);
    let bed =
        Bed::with(RealmOptions { patience, ..RealmOptions::default() }, |outside| outside).await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    shop.notice(&sink, r#"{"kind":"ended","reason":"shutting-down"}"#).await;
    drop(shop);
    bed.clock.advance(patience / 2).await;
    assert_eq!(missed(&mut watch).await, 0);
    assert!(seen(&mut watch).await.is_none(), "still trying");
    bed.clock.advance(patience).await;
    let Some(Seen::Ended(WatchEnd::Lost(error))) = seen(&mut watch).await else {
        panic!("not ended");
    };
    assert!(matches!(*error, RemoteError::Unavailable(_)), "{error}");
}

#[tokio::test]
async fn a_dropped_watch_ends_its_lease_and_leaves_nothing() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let before = (bed.local.statistics(), bed.clock.asleep());
    let (watch, _) = watching(&bed, &mut shop).await;
    drop(watch);
    let came = shop.expect("unsubscribe").await;
    assert_eq!(came.asks().1, format!(r#"{{"id":"{ID}"}}"#));
    shop.answer(&came, Ok("null")).await;
    settle().await;
    assert_eq!((bed.local.statistics(), bed.clock.asleep()), before);
    assert_eq!(bed.client.answers().counts().pending, 0);

    // While a refresh is under way, and nobody answers the unsubscribe either.
    let (watch, _) = watching(&bed, &mut shop).await;
    bed.clock.advance(THIRD).await;
    shop.expect("refresh").await;
    drop(watch);
    shop.expect("unsubscribe").await;
    bed.clock.advance(Duration::from_secs(10)).await;
    assert_eq!((bed.local.statistics(), bed.clock.asleep()), before);
    assert_eq!(bed.client.answers().counts().pending, 0);
}

#[tokio::test]
async fn stop_returns_when_the_other_realm_has_ended_the_lease() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    shop.tell(&sink, "1").await;
    let stopping = tokio::spawn(async move {
        watch.stop().await;
        watch
    });
    let came = shop.expect("unsubscribe").await;
    settle().await;
    assert!(!stopping.is_finished());
    shop.answer(&came, Ok("null")).await;
    let mut watch = stopping.await.unwrap();
    assert_eq!(event(&mut watch).await, "1");
    assert!(matches!(seen(&mut watch).await, Some(Seen::Ended(WatchEnd::Stopped))));
    watch.stop().await;
}

#[tokio::test]
async fn a_client_that_closes_ends_its_watches_and_takes_no_more() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, _) = watching(&bed, &mut shop).await;
    let own = bed.client.watch("matrix://home.example/desk.emits.said").await;
    let mut own = own.unwrap();
    let client = bed.client.clone();
    let closing = tokio::spawn(async move { client.close(Duration::from_secs(2)).await });
    let came = shop.expect("unsubscribe").await;
    shop.answer(&came, Ok("null")).await;
    closing.await.unwrap();
    for watch in [&mut watch, &mut own] {
        assert!(matches!(seen(watch).await, Some(Seen::Ended(WatchEnd::Stopped))));
    }
    let after = bed.client.watch(CHANGED).await.unwrap_err();
    assert!(matches!(after, RemoteError::Closed), "{after}");
    let after = bed.client.call(COUNT, &RawJson::NULL).await.unwrap_err();
    assert!(matches!(after, RemoteError::Closed), "{after}");
    drop((watch, own));
    settle().await;
    assert_eq!(bed.clock.asleep(), 0);
}

#[tokio::test]
async fn an_event_of_our_own_realm_is_watched_without_a_lease() {
    let bed = Bed::new().await;
    let said = MxPath::new("desk.emits.said").unwrap();
    let mut watch = bed.client.watch("matrix://home.example/desk.emits.said").await.unwrap();
    assert!(watch.is_held());
    bed.client.emit(&said, &json("[1.0]")).await.unwrap();
    assert_eq!(event(&mut watch).await, "[1.0]");
    watch.stop().await;
    assert!(matches!(seen(&mut watch).await, Some(Seen::Ended(WatchEnd::Stopped))));
}

#[tokio::test]
async fn one_watch_more_than_may_be_is_busy_until_another_has_ended() {
    let options = RealmOptions { watches: 1, ..RealmOptions::default() };
    let bed = Bed::with(options, |outside| outside).await;
    let mut shop = bed.shop().await;
    let (watch, _) = watching(&bed, &mut shop).await;
    let error = bed.client.watch(CHANGED).await.unwrap_err();
    assert!(matches!(error, RemoteError::Busy(_)), "{error}");
    drop(watch);
    let came = shop.expect("unsubscribe").await;
    shop.answer(&came, Ok("null")).await;
    settle().await;
    let (watch, _) = watching(&bed, &mut shop).await;
    assert!(watch.is_held());
}
