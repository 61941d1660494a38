//! A handler that was cut off is told so when it runs again, where the store knows.

use std::collections::HashMap;

use mesh_core::store::{Handled, HandledKey, HandledStore, StoreError, StoreErrorKind};

use super::*;
use crate::{HandlerError, ReceivedEvent, RetryPolicy};

/// A store that outlives its brokers.
#[derive(Debug, Clone, Default)]
struct Lasting {
    handled: Arc<Mutex<HashMap<HandledKey, bool>>>,
    /// It can't record.
    full: bool,
}

#[async_trait::async_trait]
impl HandledStore for Lasting {
    async fn begin(&self, key: &HandledKey) -> Result<Handled, StoreError> {
        let mut handled = self.handled.lock();
        Ok(match handled.get(key) {
            Some(true) => Handled::Yes,
            Some(false) => Handled::Interrupted,
            None => {
                handled.insert(key.clone(), false);
                Handled::No
            }
        })
    }

    async fn record(&self, key: HandledKey) -> Result<(), StoreError> {
        if self.full {
            return Err(StoreError::new(StoreErrorKind::Full, "as told"));
        }
        self.handled.lock().insert(key, true);
        Ok(())
    }

    async fn forget(&self, key: &HandledKey) -> Result<(), StoreError> {
        self.handled.lock().retain(|known, done| known != key || *done);
        Ok(())
    }

    fn window(&self) -> Duration {
        RetryPolicy::SPAN
    }
}

fn told(event: &ReceivedEvent) -> String {
    format!("#{}{}", event.attempt, if event.interrupted { " interrupted" } else { "" })
}

#[tokio::test]
async fn a_handler_that_was_cut_off_is_told_so_and_its_neighbour_is_not() {
    let (bed, store, notes) = (Bed::new().await, Arc::new(Lasting::default()), Notes::default());
    let first = bed.audit().handled(Arc::clone(&store) as _).build().unwrap();
    let seen = notes.clone();
    let stuck = move |event: ReceivedEvent| {
        seen.write(told(&event));
        std::future::pending()
    };
    first.subscribe("mail.sent", stuck).await.unwrap();
    bed.mail().publish("sent", &()).await.unwrap();
    notes.wait(1).await;

    let second = bed.audit().handled(store).build().unwrap();
    for pattern in ["mail.sent", "mail.*"] {
        let seen = notes.clone();
        let handler = move |event: ReceivedEvent| {
            seen.write(format!("{pattern} {}", told(&event)));
            std::future::ready(Ok(()))
        };
        second.subscribe(pattern, handler).await.unwrap();
    }
    let closing = tokio::spawn(async move { first.close(SECOND).await });
    bed.clock.advance(2 * SECOND).await;
    assert_eq!(closing.await.unwrap().released, 1);
    assert_eq!(notes.wait(3).await, ["#1", "mail.sent #2 interrupted", "mail.* #2"]);
    assert_eq!(second.health().interrupted_events, 1);
}

#[tokio::test]
async fn a_handler_that_failed_or_panicked_was_not_cut_off() {
    let (bed, notes) = (Bed::new().await, Notes::default());
    let audit = bed.audit().handled(Arc::new(Lasting::default())).build().unwrap();
    let seen = notes.clone();
    let failing = move |event: ReceivedEvent| {
        seen.write(told(&event));
        async move {
            match event.attempt {
                1 => Err(HandlerError::retry("not yet")),
                2 => panic!("as told"),
                _ => Ok(()),
            }
        }
    };
    audit.subscribe("mail.sent", failing).await.unwrap();
    bed.mail().publish("sent", &()).await.unwrap();
    for tries in 1..3 {
        notes.wait(tries).await;
        bed.clock.advance(60 * SECOND).await;
    }
    assert_eq!(notes.wait(3).await, ["#1", "#2", "#3"]);
    assert_eq!(audit.health().interrupted_events, 0);
}

#[tokio::test]
async fn what_can_not_be_recorded_is_tried_again_as_interrupted() {
    let (bed, notes) = (Bed::new().await, Notes::default());
    let store = Lasting { full: true, ..Lasting::default() };
    let policy = RetryPolicy { first: SECOND, longest: SECOND };
    let audit = bed.audit().handled(Arc::new(store)).retry(policy).build().unwrap();
    let seen = notes.clone();
    let handler = move |event: ReceivedEvent| {
        seen.write(told(&event));
        std::future::ready(Ok(()))
    };
    audit.subscribe("mail.sent", handler).await.unwrap();
    bed.mail().publish("sent", &()).await.unwrap();
    for tries in 1..5 {
        notes.wait(tries).await;
        bed.clock.advance(SECOND).await;
    }
    let again = |try_: u32| format!("#{try_} interrupted");
    let expected = ["#1".to_owned(), again(2), again(3), again(4), again(5)];
    assert_eq!(notes.wait(5).await, expected);
    let error = bed.dead_letter().await.error.unwrap();
    assert_eq!(error.as_str(), "store: no room (as told)");
}
