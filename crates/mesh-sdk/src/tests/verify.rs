//! Events that are not what or whose they say, and events that come again.

use mesh_core::dead_letter::DeadReason;

use super::*;

async fn audit(bed: &Bed) -> (Broker, Notes) {
    let (audit, notes) = (bed.audit().build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |event| {
            seen.write(event.event.id().to_string());
            async { Ok(()) }
        })
        .await
        .unwrap();
    (audit, notes)
}

#[tokio::test]
async fn an_event_of_another_source_than_its_subjects_is_given_up_unhandled() {
    let bed = Bed::new().await;
    let (_audit, notes) = audit(&bed).await;
    bed.append(bed.written_by("vault", "e-1")).await;
    let letter = bed.dead_letter().await;
    assert_eq!(letter.reason, DeadReason::Unverifiable);
    assert_eq!(letter.deliveries, Some(1));
    bed.append(bed.written_by("mail", "e-2")).await;
    assert_eq!(notes.wait(1).await, ["e-2"]);
}

#[tokio::test]
async fn an_undecodable_event_is_given_up_without_a_retry() {
    let bed = Bed::new().await;
    let (_audit, notes) = audit(&bed).await;
    bed.append(Message::new(event("mail", "sent"), "not json")).await;
    let letter = bed.dead_letter().await;
    assert_eq!(letter.reason, DeadReason::Undecodable);
    assert_eq!(letter.deliveries, Some(1));
    bed.append(bed.written_by("mail", "e-2")).await;
    assert_eq!(notes.wait(1).await, ["e-2"]);
}

#[tokio::test]
async fn an_event_that_comes_again_is_handled_once() {
    let bed = Bed::new().await;
    let (_audit, notes) = audit(&bed).await;
    for id in ["e-1", "e-1", "e-2", "e-1", "e-3"] {
        bed.append(bed.written_by("mail", id)).await;
    }
    let mut seen = notes.wait(3).await;
    seen.sort();
    assert_eq!(seen, ["e-1", "e-2", "e-3"]);
}

#[tokio::test]
async fn of_two_copies_in_hand_at_a_time_one_is_handled() {
    let bed = Bed::new().await;
    let (audit, notes, go) =
        (bed.audit().build().unwrap(), Notes::default(), Arc::new(Notify::new()));
    let (seen, wait) = (notes.clone(), Arc::clone(&go));
    audit
        .subscribe("mail.sent", move |event| {
            seen.write(event.event.id().to_string());
            let wait = Arc::clone(&wait);
            async move {
                if event.event.id().as_str() == "e-1" {
                    wait.notified().await;
                }
                Ok(())
            }
        })
        .await
        .unwrap();
    for id in ["e-1", "e-1", "e-2"] {
        bed.append(bed.written_by("mail", id)).await;
    }
    assert_eq!(notes.wait(2).await, ["e-1", "e-2"], "the copy waits, others pass");
    go.notify_one();
    bed.append(bed.written_by("mail", "e-3")).await;
    assert_eq!(notes.wait(3).await, ["e-1", "e-2", "e-3"]);
    let closed = audit.close(SECOND).await;
    assert_eq!((closed.released, notes.read().len()), (0, 3));
}

#[tokio::test]
async fn a_replayed_dead_letter_is_handled_as_the_event_it_was() {
    let bed = Bed::new().await;
    let (_audit, notes) = audit(&bed).await;
    let event = bed.written_by("mail", "e-1");
    let replay = subject("mesh.replay.n1_audit.mail.sent");
    let again = Message::new(replay, event.payload().clone()).with_headers(event.headers().clone());
    bed.append(again).await;
    assert_eq!(notes.wait(1).await, ["e-1"]);
}

#[tokio::test]
async fn a_memory_of_what_was_handled_is_bounded_and_forgets() {
    use mesh_core::store::{Handled, HandledKey, HandledStore as _};

    use crate::MemoryHandled;

    let clock = ManualClock::new();
    let store = MemoryHandled::with_bounds(Arc::new(clock.clone()), 2, SECOND);
    let key = |id: &str| HandledKey {
        consumer: mesh_core::name::ConsumerName::new("n1_audit").unwrap(),
        handler: filter("mail.>"),
        module: module_name("mail"),
        event: EventId::new(id).unwrap(),
    };
    for id in ["1", "2", "3"] {
        store.record(key(id)).await.unwrap();
    }
    assert_eq!(store.len(), 2);
    assert_eq!(store.begin(&key("1")).await.unwrap(), Handled::No);
    assert_eq!(store.begin(&key("3")).await.unwrap(), Handled::Yes);
    clock.advance(SECOND / 2).await;
    store.record(key("3")).await.unwrap();
    clock.advance(SECOND / 2).await;
    assert_eq!(store.begin(&key("2")).await.unwrap(), Handled::No);
    assert_eq!(store.begin(&key("3")).await.unwrap(), Handled::Yes, "recorded again meanwhile");
    clock.advance(SECOND).await;
    assert!(store.is_empty());
}
