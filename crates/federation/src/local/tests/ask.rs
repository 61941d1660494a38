use std::time::Duration;

use mesh_core::port::ErrorKind;

use super::*;

#[tokio::test]
async fn nobody_no_answer_no_right_and_no_room_are_different_errors() {
    for (bus, clock) in Bus::each() {
        let client = bus.client().await;
        let nobody = client.request(&count(), &RawJson::NULL).await.unwrap_err();
        assert!(matches!(nobody, LocalError::NoResponders { .. }), "{nobody}");

        let _silent = listen(&bus.connect(), "mx/1/shop.example/stock.accepts.count").await;
        let asking = tokio::spawn({
            let client = client.clone();
            async move { client.request(&count(), &RawJson::NULL).await }
        });
        settle().await;
        clock.advance(Duration::from_secs(5)).await;
        assert!(matches!(asking.await.unwrap(), Err(LocalError::TimedOut)));

        let large = RawJson::string(&"x".repeat(1 << 20));
        let large = client.request(&count(), &large).await.unwrap_err();
        assert!(matches!(large, LocalError::TooLarge(_)), "{large}");

        let event = client.request(&path("stock.emits.count"), &RawJson::NULL).await.unwrap_err();
        assert!(matches!(event, LocalError::Plane { .. }), "{event}");
        let long = path(&format!("{}.accepts.x", "a".repeat(236)));
        let long = client.request(&long, &RawJson::NULL).await.unwrap_err();
        assert!(matches!(long, LocalError::Topic(_)), "{long}");
        assert_eq!(client.counts().pending, 0);
    }
}

#[tokio::test]
async fn what_the_bus_denies_is_denied() {
    let (broker, _) = strict();
    let topic = "mx/1/shop.example/stock.accepts.count";
    let connection = broker.connect(gateway(), all_but(&[topic], &[])).unwrap();
    let client = LocalRequestReplyClient::new(shop(), connection, LocalOptions::default());
    let error = client.await.unwrap().request(&count(), &RawJson::NULL).await.unwrap_err();
    assert!(matches!(error, LocalError::Denied(_)), "{error}");
    let deaf = broker.connect(gateway(), all_but(&[], &["mx/1/shop.example/_reply.*"])).unwrap();
    let client = LocalRequestReplyClient::new(shop(), deaf, LocalOptions::default()).await;
    assert_eq!(client.unwrap_err().kind(), ErrorKind::Denied);
}

#[tokio::test]
async fn the_first_reply_counts_and_is_read_leniently() {
    for (bus, _) in Bus::each() {
        let client = bus.client().await;
        let component = bus.connect();
        let mut requests = listen(&component, "mx/1/shop.example/stock.accepts.count").await;
        for (reply, expected) in
            [("plain", r#""plain""#), (r#"{"result": 2}"#, "2"), (r#"{"n":1.0}"#, r#"{"n":1.0}"#)]
        {
            let asking = tokio::spawn({
                let client = client.clone();
                async move { client.request(&count(), &json("[7]")).await }
            });
            let request = next(&mut requests).await;
            let id = request.split('"').nth(3).unwrap().to_owned();
            let topic = format!("mx/1/shop.example/_reply.{id}");
            assert_eq!(
                request,
                format!(r#"{{"correlationId":"{id}","replyTo":"{topic}","params":[7]}}"#)
            );
            publish(&component, &topic, reply).await;
            publish(&component, &topic, r#"{"ok":false}"#).await;
            assert_eq!(asking.await.unwrap().unwrap().as_str(), expected);
        }
    }
}

#[tokio::test]
async fn one_request_more_than_may_wait_is_refused_and_has_room_when_one_ends() {
    for (bus, clock) in Bus::each() {
        let options = LocalOptions { pending: 2, ..LocalOptions::default() };
        let client = LocalRequestReplyClient::new(shop(), bus.connect(), options).await.unwrap();
        let _silent = listen(&bus.connect(), "mx/1/shop.example/stock.accepts.count").await;
        let ask = || {
            let client = client.clone();
            tokio::spawn(async move { client.request(&count(), &RawJson::NULL).await })
        };
        let waiting = [ask(), ask()];
        settle().await;
        assert_eq!(client.counts().pending, 2);
        let error = client.request(&count(), &RawJson::NULL).await.unwrap_err();
        assert!(matches!(error, LocalError::Busy { limit: 2 }), "{error}");
        clock.advance(Duration::from_secs(5)).await;
        for waiting in waiting {
            assert!(matches!(waiting.await.unwrap(), Err(LocalError::TimedOut)));
        }
        assert_eq!(client.counts().pending, 0);
    }
}

#[tokio::test]
async fn who_waits_is_told_when_the_bus_is_closed() {
    for (bus, _) in Bus::each() {
        let connection = bus.connect();
        let client =
            LocalRequestReplyClient::new(shop(), connection.clone(), LocalOptions::default());
        let client = client.await.unwrap();
        let _silent = listen(&bus.connect(), "mx/1/shop.example/stock.accepts.count").await;
        let asking = tokio::spawn({
            let client = client.clone();
            async move { client.request(&count(), &RawJson::NULL).await }
        });
        settle().await;
        connection.transport().close(Duration::from_secs(1)).await;
        for error in [
            asking.await.unwrap().unwrap_err(),
            client.request(&count(), &RawJson::NULL).await.unwrap_err(),
        ] {
            let LocalError::Transport(error) = error else { panic!("{error}") };
            assert_eq!(error.kind(), ErrorKind::Closed);
        }
        assert_eq!(client.counts().pending, 0);
    }
}

/// Without the check asking nobody costs the whole time, as documented.
#[tokio::test]
async fn without_the_check_asking_nobody_is_a_time_out() {
    for (bus, clock) in Bus::each() {
        let options = LocalOptions { check_receiver: false, ..LocalOptions::default() };
        let client = LocalRequestReplyClient::new(shop(), bus.connect(), options).await.unwrap();
        let asking = tokio::spawn(async move { client.request(&count(), &RawJson::NULL).await });
        settle().await;
        clock.advance(Duration::from_secs(5)).await;
        assert!(matches!(asking.await.unwrap(), Err(LocalError::TimedOut)));
    }
}
