//! Times and sizes at their ends.

use super::*;
use crate::{Handled, HandledKey, HandledStore as _, MemoryHandled};

#[tokio::test]
async fn the_longest_time_to_publish_and_to_close_is_no_overflow() {
    let bed = Bed::new().await;
    bed.clock.advance(SECOND).await;
    let grants = ModuleGrants { emits: vec![event_name("sent")], ..ModuleGrants::default() };
    let mail = bed.module("mail", &grants).publish_timeout(Duration::MAX).build();
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
    assert_eq!(store.look_up(&key("a")).await, Ok(Handled::Yes));
}

fn key(id: &str) -> HandledKey {
    HandledKey {
        handler: filter("mail.>"),
        module: module_name("mail"),
        event: EventId::new(id).unwrap(),
    }
}
