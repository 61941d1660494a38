//! Times and sizes at their ends.

use mesh_core::name::ConsumerName;
use mesh_core::port::Limits;
use mesh_core::store::{Handled, HandledKey, HandledStore as _};
use mesh_core::tool::{ToolFailure, codes};

use super::*;
use crate::{MemoryHandled, RequestError, ToolCall};

#[tokio::test]
async fn the_longest_time_to_publish_and_to_close_is_no_overflow() {
    let bed = Bed::new().await;
    bed.clock.advance(SECOND).await;
    let grants = ModuleGrants { emits: vec![event_name("sent")], ..ModuleGrants::default() };
    let mail = bed.module("mail", &grants).publish_timeout(Duration::MAX).build().unwrap();
    mail.publish("sent", &()).await.unwrap();
    mail.close(Duration::MAX).await;
}

#[tokio::test]
async fn the_longest_window_of_a_store_is_no_overflow() {
    let clock = ManualClock::new();
    clock.advance(SECOND).await;
    let store = MemoryHandled::with_bounds(Arc::new(clock.clone()), 10, Duration::MAX);
    store.record(key("a")).await.unwrap();
    clock.advance(Duration::from_secs(1_000_000_000)).await;
    assert_eq!(store.begin(&key("a")).await.unwrap(), Handled::Yes);
}

fn key(id: &str) -> HandledKey {
    HandledKey {
        consumer: ConsumerName::new("n1_audit").unwrap(),
        handler: filter("mail.>"),
        module: module_name("mail"),
        event: EventId::new(id).unwrap(),
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_told_to_its_caller() {
    let clock = ManualClock::new();
    let limits = Limits { max_payload: 4096, ..Limits::default() };
    let broker = InMemoryDurableBroker::builder(Arc::new(clock.clone())).limits(limits).build();
    let bed = Bed {
        controller: broker.connect(controller(), Permissions::everything()).unwrap(),
        clock,
        broker,
    };
    let (mail, audit) = (bed.mail(), bed.audit().build().unwrap());
    mail.handle("send", |call: ToolCall| async move {
        match call.decode::<String>()?.as_str() {
            "long" => Ok("x".repeat(5000)),
            _ => Err(ToolFailure::new("LONG", "y".repeat(5000))),
        }
    })
    .await
    .unwrap();
    let answer = audit.request::<_, _, String>(("mail", "send"), "long").await;
    let Err(RequestError::Tool(failure)) = answer else { panic!("{answer:?}") };
    assert_eq!(failure.code, codes::FAILED);
    assert!(failure.message.contains("5002 bytes"), "{failure}");
    let answer = audit.request::<_, _, String>(("mail", "send"), "fail").await;
    let Err(RequestError::Tool(failure)) = answer else { panic!("{answer:?}") };
    assert_eq!(failure.code, "LONG");
}

#[tokio::test]
async fn any_number_of_handlers_can_be_asked_for() {
    for handlers in [0, usize::MAX] {
        let bed = Bed::new().await;
        let (audit, notes) = (bed.audit().concurrency(handlers).build().unwrap(), Notes::default());
        let seen = notes.clone();
        audit
            .subscribe("mail.sent", move |_| {
                seen.write("seen");
                async { Ok(()) }
            })
            .await
            .unwrap();
        bed.mail().publish("sent", &()).await.unwrap();
        notes.wait(1).await;
    }
}

#[tokio::test]
async fn a_key_that_is_recorded_again_and_again_takes_one_place() {
    let clock = ManualClock::new();
    let store = MemoryHandled::with_bounds(Arc::new(clock.clone()), 3, Duration::MAX);
    for id in ["a", "b"] {
        store.record(key(id)).await.unwrap();
    }
    for _ in 0..1000 {
        clock.advance(Duration::from_millis(1)).await;
        store.record(key("b")).await.unwrap();
    }
    assert!(store.places() <= 6, "{}", store.places());
    assert_eq!(store.begin(&key("a")).await.unwrap(), Handled::Yes);
}
