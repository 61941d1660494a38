use super::*;

#[tokio::test]
async fn a_watch_is_a_lease_for_a_sink_that_nobody_can_guess_and_brings_each_event_whole() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let client = bed.client.clone();
    let opening = tokio::spawn(async move { client.watch(CHANGED).await });
    let came = shop.next().await;
    let (path, body) = came.asks();
    assert_eq!(path, "_federation.accepts.subscribe");
    let sink = came.sink();
    let hex = sink.strip_prefix("watch.").unwrap().strip_suffix(".emits.event").unwrap();
    assert_eq!(hex.len(), 32);
    assert_eq!(
        body,
        format!(r#"{{"sourcePath":"stock.emits.changed","sinkPath":"{sink}","leaseMs":60000}}"#)
    );
    assert!(!opening.is_finished());
    shop.grant(&bed, &came).await;
    let mut watch = opening.await.unwrap().unwrap();
    assert!(watch.is_held());
    assert_eq!(watch.uri().to_string(), CHANGED);
    assert!(seen(&mut watch).await.is_none());
    for body in [r#"{"n": 1.0, "n": 1e400}"#, "null", "[ 1 ]"] {
        shop.tell(&sink, body).await;
        assert_eq!(event(&mut watch).await, body);
    }
}

#[tokio::test]
async fn a_lease_is_refreshed_at_each_third_of_its_life() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, _) = watching(&bed, &mut shop).await;
    for _ in 0..5 {
        bed.clock.advance(THIRD - Duration::from_millis(1)).await;
        shop.nothing_came().await;
        bed.clock.advance(Duration::from_millis(1)).await;
        let came = shop.expect("refresh").await;
        assert_eq!(came.asks().1, format!(r#"{{"id":"{ID}","leaseMs":60000}}"#));
        shop.grant(&bed, &came).await;
    }
    assert!(seen(&mut watch).await.is_none(), "all is well");
    assert!(watch.is_held());
}

/// The other realm gives less than was asked for.
#[tokio::test]
async fn a_shorter_lease_is_refreshed_at_a_third_of_that() {
    use mesh_core::port::Clock as _;
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let client = bed.client.clone();
    let opening = tokio::spawn(async move { client.watch(CHANGED).await });
    let came = shop.expect("subscribe").await;
    let expires = bed.clock.now().as_millis() + 30_000;
    shop.answer(&came, Ok(&format!(r#"{{"id":"{ID}","expiresAtMs":{expires}}}"#))).await;
    let _watch = opening.await.unwrap().unwrap();
    settle().await;
    bed.clock.advance(THIRD / 2).await;
    shop.expect("refresh").await;
}

#[tokio::test]
async fn a_lease_that_the_other_realm_does_not_know_is_asked_for_anew() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    bed.clock.advance(THIRD).await;
    let came = shop.expect("refresh").await;
    shop.answer(&came, Err(("MX.SUB.NOT_FOUND", "no lease of this id"))).await;
    settle().await;
    assert!(!watch.is_held());
    assert_eq!(missed(&mut watch).await, 0);
    bed.clock.advance(Duration::from_millis(500)).await;
    let came = shop.expect("subscribe").await;
    assert_eq!(came.sink(), sink, "the same three, so the same lease");
    shop.grant(&bed, &came).await;
    assert!(watch.is_held());
    assert_eq!(missed(&mut watch).await, 0, "up to here");
    shop.tell(&sink, "1").await;
    assert_eq!(event(&mut watch).await, "1");
}

#[tokio::test]
async fn a_realm_that_is_silent_is_asked_until_the_lease_is_over_and_then_for_a_new_one() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    bed.clock.advance(THIRD).await;
    let mut refreshes = 0;
    let came = loop {
        let came = shop.next_in_time(&bed).await;
        match &*came.command() {
            "refresh" => refreshes += 1,
            "subscribe" => break came,
            other => panic!("{other}"),
        }
    };
    assert!(refreshes >= 2, "{refreshes}");
    assert!(!watch.is_held());
    assert_eq!(missed(&mut watch).await, 0);
    shop.grant(&bed, &came).await;
    assert!(watch.is_held());
    assert_eq!(missed(&mut watch).await, 0);
    shop.tell(&sink, "1").await;
    assert_eq!(event(&mut watch).await, "1");
}

#[tokio::test]
async fn a_notice_that_the_lease_has_ended_has_it_asked_for_anew() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    for reason in ["expired", "shutting-down", "a reason of the year 2050"] {
        let body = format!(
            r#"{{"id":"{ID}","sourcePath":"stock.emits.changed","sinkPath":"{sink}","kind":"ended","reason":"{reason}"}}"#
        );
        shop.notice(&sink, &body).await;
        assert!(!watch.is_held());
        assert_eq!(missed(&mut watch).await, 0);
        bed.clock.advance(Duration::from_millis(500)).await;
        let came = shop.expect("subscribe").await;
        shop.grant(&bed, &came).await;
        assert!(watch.is_held());
        assert_eq!(missed(&mut watch).await, 0);
    }
    shop.notice(&sink, r#"{"kind":"missed","atLeast":3}"#).await;
    shop.notice(&sink, r#"{"kind":"missed","atLeast":4}"#).await;
    assert_eq!(missed(&mut watch).await, 7, "told together, since nobody looked");
    shop.notice(&sink, r#"{"kind":"of the year 2050"}"#).await;
    shop.notice(&sink, "[]").await;
    assert!(seen(&mut watch).await.is_none());
    assert!(watch.is_held());
}

#[tokio::test]
async fn what_the_other_realm_refuses_at_once_is_no_watch_and_leaves_nothing() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let before = (bed.local.statistics(), bed.clock.asleep());
    for code in ["MX.SUB.BAD_SOURCE", "MX.EDGE.POLICY_DENIED", "MX.SUB.LIMIT"] {
        let client = bed.client.clone();
        let opening = tokio::spawn(async move { client.watch(CHANGED).await });
        let came = shop.expect("subscribe").await;
        shop.answer(&came, Err((code, "no"))).await;
        let error = opening.await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), format!("{code}: no"));
    }
    let client = bed.client.clone();
    let opening = tokio::spawn(async move { client.watch(CHANGED).await });
    let came = shop.expect("subscribe").await;
    shop.answer(&came, Ok("[]")).await;
    assert!(opening.await.unwrap().unwrap_err().to_string().contains("no lease"));
    drop(shop);
    settle().await;
    let nobody = bed.client.watch(CHANGED).await.unwrap_err();
    assert!(matches!(nobody, RemoteError::Unavailable(_)), "{nobody}");
    let command = bed.client.watch(COUNT).await.unwrap_err();
    assert!(matches!(command, RemoteError::Plane { .. }), "{command}");
    settle().await;
    assert_eq!((bed.local.statistics(), bed.clock.asleep()), before);
}

#[tokio::test]
async fn a_slow_reader_is_told_how_many_events_it_lost() {
    let watch_buffer = std::num::NonZeroUsize::new(4).unwrap();
    let options = RealmOptions { watch_buffer, ..RealmOptions::default() };
    let bed = Bed::with(options, |outside| outside).await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    for n in 0..10 {
        shop.tell(&sink, &n.to_string()).await;
    }
    let (mut events, mut lost) = (0, 0);
    while let Some(seen) = seen(&mut watch).await {
        match seen {
            Seen::Event(_) => events += 1,
            Seen::Missed { at_least } => lost += at_least,
            Seen::Ended(end) => panic!("{end:?}"),
        }
    }
    assert_eq!((events, events + lost), (4, 10));
}

#[tokio::test]
async fn what_our_own_mailbox_has_lost_is_told_as_missed() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, _) = watching(&bed, &mut shop).await;
    assert!(seen(&mut watch).await.is_none());
    // As the gateway does.
    bed.client.answers().missed();
    assert_eq!(missed(&mut watch).await, 0);
    assert!(watch.is_held());
}

#[tokio::test]
async fn a_legacy_realm_is_subscribed_to_and_heard_in_its_profile() {
    let bed = Bed::new().await;
    bed.client.set_profile(shop(), Profile::Legacy);
    let mut other = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut other).await;
    let event_text = format!(
        r#"{{"fromRealm":"shop.example","toPath":"{sink}","correlationId":"e-1","body":[1.0]}}"#
    );
    other.send(KINDS[0], &us(), event_text.into_bytes()).await;
    assert_eq!(event(&mut watch).await, "[1.0]");
    bed.clock.advance(THIRD).await;
    assert_eq!(other.expect("refresh").await.kind, MailboxKind::Legacy);
}
