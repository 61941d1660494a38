use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mesh_core::mx::Profile;
use tokio::sync::{Notify, mpsc};

use super::super::{HostError, Remote};
use super::*;

#[tokio::test]
async fn a_call_reaches_its_handler_and_its_answer_who_asked_with_every_byte() {
    for (bus, _) in Bus::each() {
        let host = bus.host();
        let _counting = host.accept(count(), echo).await.unwrap();
        let client = bus.client().await;
        for text in [r#"{"b": 1.0, "a": 12345678901234567890123, "b": 1e400}"#, "null", "[ 1 ]"] {
            let answer = client.request(&count(), &json(text)).await.unwrap();
            assert_eq!(answer.as_str(), text);
        }
    }
}

#[tokio::test]
async fn a_fault_of_the_handler_is_the_askers_with_its_code_and_details() {
    for (bus, _) in Bus::each() {
        let refuse = |_: Call| async {
            let mut fault = Fault::new("STOCK.NONE", "none left");
            fault.details = Some(json(r#"{"of": 1e400}"#).into_owned());
            Err(fault)
        };
        let counting = bus.host().accept(count(), refuse).await.unwrap();
        let error = bus.client().await.request(&count(), &RawJson::NULL).await.unwrap_err();
        let LocalError::Failed(fault) = error else { panic!("{error}") };
        assert_eq!((&*fault.code, &*fault.message), ("STOCK.NONE", "none left"));
        assert_eq!(fault.details.unwrap().as_str(), r#"{"of": 1e400}"#);
        assert_eq!(counting.counts().refused, 1);
    }
}

/// `_mx` is the gateway's; without it a call is from inside.
#[tokio::test]
async fn a_handler_sees_which_realm_asks_and_that_a_call_is_local() {
    for (bus, _) in Bus::each() {
        let (seen, mut calls) = mpsc::unbounded_channel();
        let see = move |call: Call| {
            seen.send(call).unwrap();
            async { Ok(RawJson::NULL) }
        };
        let _counting = bus.host().accept(count(), see).await.unwrap();
        let connection = bus.connect();
        let reply = "mx/1/shop.example/_reply.00000000000000000000000000000001";
        let mut replies = listen(&connection, reply).await;
        let request = |mx: &str| {
            format!(r#"{{"correlationId":"c-1","replyTo":"{reply}","params":[1.0]{mx}}}"#)
        };
        let topic = "mx/1/shop.example/stock.accepts.count";

        publish(&connection, topic, &request("")).await;
        let call = calls.recv().await.unwrap();
        assert!(call.is_local());
        assert_eq!((call.params.as_str(), &*call.correlation_id), ("[1.0]", "c-1"));
        assert_eq!(call.path, count());
        assert_eq!(next(&mut replies).await, r#"{"correlationId":"c-1","ok":true,"body":null}"#);

        let mx = concat!(
            r#","_mx":{"fromRealm":"acme.com","incomingProfile":"legacy","msgId":"m-1","#,
            r#""principalKey":"ada","traceId":"t-1"}"#
        );
        publish(&connection, topic, &request(mx)).await;
        let call = calls.recv().await.unwrap();
        assert!(!call.is_local());
        let mut remote = Remote::new(RealmName::new("acme.com").unwrap(), Profile::Legacy);
        remote.msg_id = Some("m-1".to_owned());
        remote.principal_key = Some("ada".to_owned());
        remote.trace_id = Some("t-1".to_owned());
        assert_eq!(call.remote, Some(remote));
    }
}

#[tokio::test]
async fn hosts_of_one_component_share_its_calls() {
    let (bus, _) = Bus::filter();
    let first = bus.host().accept(count(), echo).await.unwrap();
    let second = bus.host().accept(count(), echo).await.unwrap();
    let client = bus.client().await;
    for _ in 0..40 {
        client.request(&count(), &RawJson::NULL).await.unwrap();
    }
    let [first, second] = [first, second].map(|registration| registration.counts().answered);
    assert_eq!(first + second, 40);
    assert!(first > 0 && second > 0, "{first} and {second}");
}

#[tokio::test]
async fn without_groups_each_host_handles_a_call_and_the_first_answer_counts() {
    let [(bus, _), _] = Bus::each();
    let first = bus.host().accept(count(), echo).await.unwrap();
    let second = bus.host().accept(count(), echo).await.unwrap();
    let answer = bus.client().await.request(&count(), &json("7")).await.unwrap();
    assert_eq!(answer.as_str(), "7");
    settle().await;
    assert_eq!((first.counts().answered, second.counts().answered), (1, 1));
}

#[tokio::test]
async fn no_more_handlers_run_at_a_time_than_may() {
    for (bus, _) in Bus::each() {
        let options =
            HostOptions { concurrency: NonZeroUsize::new(3).unwrap(), ..HostOptions::default() };
        let host = ComponentHost::new(shop(), bus.connect(), options);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let gate = Arc::new(Notify::new());
        let handler = {
            let (running, most, gate) = (running.clone(), most.clone(), gate.clone());
            move |_: Call| {
                let (running, most, gate) = (running.clone(), most.clone(), gate.clone());
                async move {
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    gate.notified().await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    Ok(RawJson::NULL)
                }
            }
        };
        let counting = host.accept(count(), handler).await.unwrap();
        let client = bus.client().await;
        let asking: Vec<_> = (0..10)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { client.request(&count(), &RawJson::NULL).await })
            })
            .collect();
        settle().await;
        assert_eq!(counting.counts().running, 3);
        for asking in asking {
            while !asking.is_finished() {
                gate.notify_one();
                tokio::task::yield_now().await;
            }
            asking.await.unwrap().unwrap();
        }
        assert_eq!(most.load(Ordering::SeqCst), 3);
        assert_eq!((counting.counts().answered, counting.counts().running), (10, 0));
    }
}

#[tokio::test]
async fn a_path_has_one_handler_in_a_host_and_may_have_another_after_it() {
    for (bus, _) in Bus::each() {
        let host = bus.host();
        let first = host.accept(count(), echo).await.unwrap();
        let again = host.accept(count(), echo).await;
        assert!(matches!(again.unwrap_err(), HostError::Taken { .. }));
        drop(first);
        let _second = host.accept(count(), echo).await.unwrap();
        let event = host.accept(path("stock.emits.count"), echo).await;
        assert!(matches!(event.unwrap_err(), HostError::Plane { .. }));
    }
}

#[tokio::test]
async fn an_event_is_its_bare_body_on_exactly_its_topic() {
    for (bus, _) in Bus::each() {
        let host = bus.host();
        let mut heard = listen(&bus.connect(), "mx/1/shop.example/front/stock.emits.changed").await;
        let changed = path("front/stock.emits.changed");
        host.emit(&changed, &json(r#"{"n": 1.50, "_mx": 1}"#)).await.unwrap();
        assert_eq!(next(&mut heard).await, r#"{"n": 1.50, "_mx": 1}"#);
        let command = host.emit(&count(), &RawJson::NULL).await;
        assert!(matches!(command.unwrap_err(), HostError::Plane { .. }));
        let long = path(&format!("{}.emits.x", "a".repeat(238)));
        let long = host.emit(&long, &RawJson::NULL).await;
        assert!(matches!(long.unwrap_err(), HostError::Topic(_)));
    }
}

#[tokio::test]
async fn close_lets_what_runs_finish_and_takes_nothing_more() {
    for (bus, clock) in Bus::each() {
        let gate = Arc::new(Notify::new());
        let waiting = Arc::clone(&gate);
        let handler = move |call: Call| {
            let waiting = Arc::clone(&waiting);
            async move {
                waiting.notified().await;
                Ok(call.params)
            }
        };
        let counting = bus.host().accept(count(), handler).await.unwrap();
        let client = bus.client().await;
        let asking = tokio::spawn({
            let client = client.clone();
            async move { client.request(&count(), &json("1")).await }
        });
        settle().await;
        let closing = tokio::spawn(counting.close(Duration::from_secs(2)));
        settle().await;
        let late = client.request(&count(), &RawJson::NULL).await.unwrap_err();
        assert!(matches!(late, LocalError::NoResponders { .. }), "{late}");
        gate.notify_one();
        let report = closing.await.unwrap();
        assert_eq!((report.finished, report.given_up), (1, 0));
        assert_eq!(asking.await.unwrap().unwrap().as_str(), "1");

        let hangs = |_: Call| std::future::pending();
        let counting = bus.host().accept(count(), hangs).await.unwrap();
        let asking = tokio::spawn(async move { client.request(&count(), &json("1")).await });
        settle().await;
        let closing = tokio::spawn(counting.close(Duration::from_secs(2)));
        clock.advance(Duration::from_secs(2)).await;
        let report = closing.await.unwrap();
        assert_eq!((report.finished, report.given_up), (0, 1));
        clock.advance(Duration::from_secs(5)).await;
        assert!(matches!(asking.await.unwrap(), Err(LocalError::TimedOut)));
    }
}
