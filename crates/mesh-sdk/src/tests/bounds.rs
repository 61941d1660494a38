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

/// How many run at a time, and the most that ever did.
#[derive(Clone, Default)]
struct Running(Arc<Mutex<(usize, usize)>>);

impl Running {
    async fn run(&self, clock: &ManualClock) {
        {
            let mut counts = self.0.lock();
            *counts = (counts.0 + 1, counts.1.max(counts.0 + 1));
        }
        clock.sleep(SECOND).await;
        self.0.lock().0 -= 1;
    }

    fn most(&self) -> usize {
        self.0.lock().1
    }
}

#[tokio::test]
async fn so_many_events_and_calls_of_each_tool_are_handled_at_a_time() {
    let bed = Bed::new().await;
    let everything = |name| bed.connect(module("n1", name), Permissions::everything());
    let audit = everything("audit").consumes([filter("mail.>")]).concurrency(3).build().unwrap();
    let mail = everything("mail").build().unwrap();
    let [events, send, count] = [(); 3].map(|()| Running::default());
    let (running, clock) = (events.clone(), bed.clock.clone());
    audit
        .subscribe("mail.*", move |_| {
            let (running, clock) = (running.clone(), clock.clone());
            async move {
                running.run(&clock).await;
                Ok(())
            }
        })
        .await
        .unwrap();
    for (tool, running) in [("send", send.clone()), ("count", count.clone())] {
        let clock = bed.clock.clone();
        audit
            .handle(tool, move |_| {
                let (running, clock) = (running.clone(), clock.clone());
                async move {
                    running.run(&clock).await;
                    Ok(())
                }
            })
            .await
            .unwrap();
    }
    let asking = (0..8).flat_map(|_| ["send", "count"]).map(|tool| {
        let mail = mail.clone();
        tokio::spawn(async move { mail.request::<_, _, ()>(("audit", tool), &()).await })
    });
    let asking: Vec<_> = asking.collect();
    for _ in 0..8 {
        mail.publish("sent", &()).await.unwrap();
    }
    bed.clock.advance(3 * SECOND).await;
    assert_eq!([events.most(), send.most(), count.most()], [3; 3], "each for itself");
    for answer in futures_util::future::join_all(asking).await {
        answer.unwrap().unwrap();
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
