//! Case A18: nothing is left behind.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mesh_core::port::Clock as _;
use proptest::prelude::*;

use super::*;

const DEADLINE: Duration = Duration::from_millis(5);

/// 10,000 requests to a silent component, 100 of them dropped midway, one answered late.
async fn silent(bus: Bus, clock: ManualClock) {
    const ALL: usize = 10_000;
    const DROPPED: usize = 100;
    let options = LocalOptions { timeout: DEADLINE, pending: ALL, ..LocalOptions::default() };
    let client = LocalRequestReplyClient::new(shop(), bus.connect(), options).await.unwrap();
    let component = bus.connect();
    let mut requests = listen(&component, "mx/1/shop.example/stock.accepts.count").await;
    let before = (bus.subscriptions(), clock.asleep());

    let mut asking = tokio::task::JoinSet::new();
    let mut dropped = Vec::new();
    for n in 0..ALL {
        let client = client.clone();
        let handle =
            asking.spawn(async move { client.request(&count(), &RawJson::NULL).await.map(drop) });
        if n % (ALL / DROPPED) == 0 {
            dropped.push(handle);
        }
    }
    clock.sleepers(before.1 + ALL).await;
    assert_eq!(client.counts().pending, ALL);
    let first = next(&mut requests).await;
    for handle in &dropped {
        handle.abort();
    }
    clock.advance(DEADLINE).await;

    let (mut timed_out, mut aborted) = (0, 0);
    while let Some(ended) = asking.join_next().await {
        match ended {
            Ok(result) => {
                assert!(matches!(result, Err(LocalError::TimedOut)), "{result:?}");
                timed_out += 1;
            }
            Err(error) => {
                assert!(error.is_cancelled());
                aborted += 1;
            }
        }
    }
    assert_eq!((timed_out, aborted), (ALL - DROPPED, DROPPED), "one result each");
    assert_eq!(client.counts().pending, 0);
    assert_eq!((bus.subscriptions(), clock.asleep()), before);

    clock.advance(Duration::from_millis(50)).await;
    let id = first.split('"').nth(3).unwrap();
    publish(&component, &format!("mx/1/shop.example/_reply.{id}"), "1").await;
    settle().await;
    let late = u64::from(matches!(bus, Bus::Filter(_)));
    assert_eq!(client.counts().unmatched, late, "heard where one subscription hears all");
    drop((client, requests, component));
    settle().await;
    assert_eq!(bus.subscriptions(), 0);
}

#[tokio::test]
async fn ten_thousand_requests_to_a_silent_component_leave_nothing() {
    for (bus, clock) in Bus::each() {
        silent(bus, clock).await;
    }
}

#[tokio::test]
async fn a_dropped_registration_leaves_no_subscription_and_no_handler() {
    struct Alive(Arc<AtomicUsize>);
    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    for (bus, clock) in Bus::each() {
        let alive = Arc::new(AtomicUsize::new(0));
        let handler = {
            let alive = Arc::clone(&alive);
            move |_: Call| {
                alive.fetch_add(1, Ordering::SeqCst);
                let alive = Alive(Arc::clone(&alive));
                async move {
                    std::future::pending::<()>().await;
                    drop(alive);
                    Ok(RawJson::NULL)
                }
            }
        };
        let counting: Registration = bus.host().accept(count(), handler).await.unwrap();
        let client = bus.client().await;
        let asking = tokio::spawn(async move { client.request(&count(), &RawJson::NULL).await });
        settle().await;
        assert_eq!((alive.load(Ordering::SeqCst), counting.counts().running), (1, 1));
        drop(counting);
        settle().await;
        assert_eq!(alive.load(Ordering::SeqCst), 0);
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
        settle().await;
        assert_eq!((bus.subscriptions(), clock.asleep()), (0, 0));
    }
}

/// What may become of one request.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Answered,
    AnsweredTwice,
    Refused,
    Late,
    GivenUp,
    NobodyThere,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        Just(Fate::Answered),
        Just(Fate::AnsweredTwice),
        Just(Fate::Refused),
        Just(Fate::Late),
        Just(Fate::GivenUp),
        Just(Fate::NobodyThere),
    ];
    proptest::collection::vec(fate, 1..40)
}

/// Plays all requests at once, and sees that each has the one result that it should.
async fn play(bus: Bus, clock: ManualClock, fates: Vec<Fate>) {
    let client = bus.client().await;
    let component = bus.connect();
    let idle = bus.subscriptions();
    let mut asked = Vec::new();
    for (n, fate) in fates.into_iter().enumerate() {
        let command = path(&format!("c{n}.accepts.do"));
        let subject = format!("mx/1/shop.example/{command}");
        let there = !matches!(fate, Fate::NobodyThere);
        let requests = if there { Some(listen(&component, &subject).await) } else { None };
        let client = client.clone();
        let asking = tokio::spawn(async move { client.request(&command, &RawJson::NULL).await });
        asked.push((fate, requests, asking));
    }
    settle().await;
    let mut late = Vec::new();
    for (fate, requests, asking) in &mut asked {
        let Some(requests) = requests else { continue };
        let request = next(requests).await;
        let id = request.split('"').nth(3).unwrap();
        let topic = format!("mx/1/shop.example/_reply.{id}");
        match fate {
            Fate::Answered => publish(&component, &topic, "1").await,
            Fate::AnsweredTwice => {
                publish(&component, &topic, "1").await;
                publish(&component, &topic, "2").await;
            }
            Fate::Refused => publish(&component, &topic, r#"{"error":{"code":"E"}}"#).await,
            Fate::GivenUp => asking.abort(),
            Fate::Late | Fate::NobodyThere => late.push(topic),
        }
    }
    clock.advance(Duration::from_secs(5)).await;
    for topic in late {
        publish(&component, &topic, "1").await;
    }
    for (fate, _, asking) in asked {
        let result = asking.await;
        let as_it_should = match fate {
            Fate::Answered | Fate::AnsweredTwice => {
                matches!(&result, Ok(Ok(body)) if body.as_str() == "1")
            }
            Fate::Refused => matches!(result, Ok(Err(LocalError::Failed(_)))),
            Fate::Late => matches!(result, Ok(Err(LocalError::TimedOut))),
            Fate::GivenUp => result.is_err(),
            Fate::NobodyThere => matches!(result, Ok(Err(LocalError::NoResponders { .. }))),
        };
        assert!(as_it_should, "{fate:?}");
    }
    settle().await;
    assert_eq!((client.counts().pending, bus.subscriptions(), clock.asleep()), (0, idle, 0));
    assert!(clock.monotonic() >= Duration::from_secs(5));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn each_request_has_one_result_and_leaves_nothing(fates in fates()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for (bus, clock) in Bus::each() {
                play(bus, clock, fates.clone()).await;
            }
        });
    }
}
