use std::num::NonZeroUsize;
use std::time::Duration;

use super::*;

const SECRET: &str = "the password is 1234";

#[tokio::test]
async fn a_panic_is_answered_without_what_it_said_and_the_next_call_works() {
    for (bus, _) in Bus::each() {
        let handler = |call: Call| async move {
            assert!(call.params != RawJson::NULL, "{SECRET}");
            Ok(call.params)
        };
        let counting = bus.host().accept(count(), handler).await.unwrap();
        let client = bus.client().await;
        let error = client.request(&count(), &RawJson::NULL).await.unwrap_err();
        let LocalError::Failed(fault) = error else { panic!("{error}") };
        assert_eq!(&*fault.code, "MX.EDGE.HANDLER_ERROR");
        assert!(!fault.message.contains(SECRET), "{}", fault.message);
        assert_eq!(client.request(&count(), &json("1")).await.unwrap().as_str(), "1");
        let counts = counting.counts();
        assert_eq!((counts.panicked, counts.answered, counts.running), (1, 1, 0));
    }
}

/// A handler may panic before it has given a future, too.
#[tokio::test]
async fn a_panic_before_the_first_wait_is_answered_too() {
    for (bus, _) in Bus::each() {
        fn never(_: Call) -> std::future::Ready<Result<RawJson<'static>, Fault<'static>>> {
            panic!("{SECRET}")
        }
        let _counting = bus.host().accept(count(), never).await.unwrap();
        let error = bus.client().await.request(&count(), &RawJson::NULL).await.unwrap_err();
        assert!(matches!(error, LocalError::Failed(_)), "{error}");
    }
}

#[tokio::test]
async fn a_handler_that_takes_too_long_is_given_up_and_answered() {
    for (bus, clock) in Bus::each() {
        let options = HostOptions { time: Duration::from_secs(2), ..HostOptions::default() };
        let host = ComponentHost::new(shop(), bus.connect(), options);
        let hangs = |_: Call| std::future::pending();
        let counting = host.accept(count(), hangs).await.unwrap();
        let client = bus.client().await;
        let asking = tokio::spawn(async move { client.request(&count(), &RawJson::NULL).await });
        clock.sleepers(2).await;
        clock.advance(Duration::from_secs(2)).await;
        let error = asking.await.unwrap().unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
        assert_eq!((counting.counts().overdue, counting.counts().running), (1, 0));
    }
}

/// A host publishes to reply topics of its own realm and to nothing else, and runs nothing for a request
/// that names another: whoever may publish on the local bus would else reach any subject through it.
#[tokio::test]
async fn a_request_to_be_answered_elsewhere_reaches_no_handler() {
    for (bus, _) in Bus::each() {
        let counting = bus.host().accept(count(), echo).await.unwrap();
        let connection = bus.connect();
        let id = "00000000000000000000000000000001";
        let elsewhere = [
            format!("mx/1/other/_reply.{id}"),
            format!("mx/1/shop.example/_reply.{id}a"),
            "mx/1/shop.example/_reply.x".to_owned(),
            "mx/1/shop.example/stock.accepts.empty".to_owned(),
            "mx/1/shop.example/_reply.accepts.empty".to_owned(),
            "mx/in/1/other/00".to_owned(),
            "public.ingress.other".to_owned(),
            "mesh.node.n1.declare".to_owned(),
        ];
        let mut heard = Vec::new();
        for subject in &elsewhere {
            heard.push(listen(&connection, subject).await);
            let request = format!(r#"{{"correlationId":"c","replyTo":"{subject}","params":1}}"#);
            publish(&connection, "mx/1/shop.example/stock.accepts.count", &request).await;
        }
        settle().await;
        let counts = counting.counts();
        assert_eq!((counts.foreign_reply, counts.answered), (elsewhere.len() as u64, 0));
        for (subscription, subject) in heard.iter_mut().zip(&elsewhere) {
            publish(&connection, subject, "mark").await;
            assert_eq!(next(subscription).await, "mark", "nothing came to {subject} before");
        }
    }
}

#[tokio::test]
async fn what_is_no_request_is_counted_and_passed_over() {
    for (bus, _) in Bus::each() {
        let counting = bus.host().accept(count(), echo).await.unwrap();
        let connection = bus.connect();
        for payload in ["", "[]", "{}", r#"{"correlationId":"c","replyTo":"a.*"}"#, "\u{1}"] {
            publish(&connection, "mx/1/shop.example/stock.accepts.count", payload).await;
        }
        settle().await;
        assert_eq!(counting.counts().undecodable, 5);
        assert!(bus.client().await.request(&count(), &RawJson::NULL).await.is_ok());
    }
}

#[tokio::test]
async fn an_answer_too_large_for_the_bus_is_a_failure_and_not_silence() {
    for (bus, _) in Bus::each() {
        let large = |_: Call| async { Ok(RawJson::string(&"x".repeat(1 << 20))) };
        let _counting = bus.host().accept(count(), large).await.unwrap();
        let error = bus.client().await.request(&count(), &RawJson::NULL).await.unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
        assert!(matches!(error, LocalError::Failed(_)));
    }
}

#[tokio::test]
async fn calls_beyond_the_buffer_are_counted() {
    for (bus, _) in Bus::each() {
        let options = HostOptions {
            concurrency: NonZeroUsize::MIN,
            buffer: NonZeroUsize::new(4).unwrap(),
            ..HostOptions::default()
        };
        let host = ComponentHost::new(shop(), bus.connect(), options);
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        let waiting = Arc::clone(&gate);
        let handler = move |_: Call| {
            let waiting = Arc::clone(&waiting);
            async move {
                waiting.acquire().await.unwrap().forget();
                Ok(RawJson::NULL)
            }
        };
        let counting = host.accept(count(), handler).await.unwrap();
        let connection = bus.connect();
        let request = concat!(
            r#"{"correlationId":"c","params":1,"#,
            r#""replyTo":"mx/1/shop.example/_reply.00000000000000000000000000000001"}"#
        );
        for _ in 0..20 {
            publish(&connection, "mx/1/shop.example/stock.accepts.count", request).await;
        }
        settle().await;
        gate.add_permits(20);
        settle().await;
        let counts = counting.counts();
        assert!(counts.lost > 0);
        assert_eq!(counts.lost + counts.answered, 20, "{counts:?}");
    }
}

/// A right that is withdrawn ends the subscription; once it is back, so are the calls.
#[tokio::test]
async fn a_subscription_that_ended_is_made_anew() {
    let (broker, clock) = strict();
    let permissions = all_but(&[], &[]);
    let host = ComponentHost::new(
        shop(),
        broker.connect(gateway(), permissions.clone()).unwrap(),
        HostOptions::default(),
    );
    let counting = host.accept(count(), echo).await.unwrap();
    broker.set_permissions(&gateway(), &all_but(&[], &["*.>"]));
    clock.sleepers(1).await;
    assert!(!counting.counts().listening);
    assert!(counting.counts().interrupted > 0);
    broker.set_permissions(&gateway(), &permissions);
    clock.advance(Duration::from_secs(30)).await;
    assert!(counting.counts().listening);
    let asker =
        broker.connect(Principal::Gateway { name: InstanceName::new("g2").unwrap() }, permissions);
    let client = LocalRequestReplyClient::new(shop(), asker.unwrap(), LocalOptions::default())
        .await
        .unwrap();
    assert_eq!(client.request(&count(), &json("1")).await.unwrap().as_str(), "1");
}

#[tokio::test]
async fn a_host_whose_connection_is_closed_says_that_it_hears_nothing() {
    for (bus, _) in Bus::each() {
        let host = bus.host();
        let counting = host.accept(count(), echo).await.unwrap();
        host.local().transport().close(Duration::from_secs(1)).await;
        settle().await;
        assert!(!counting.counts().listening);
        let report = counting.close(Duration::from_secs(1)).await;
        assert_eq!((report.finished, report.given_up), (0, 0));
    }
}
