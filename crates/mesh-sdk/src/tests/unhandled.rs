//! Events that are consumed and that no handler matches.

use std::sync::atomic::{AtomicUsize, Ordering};

use mesh_core::dead_letter::DeadReason;
use mesh_core::port::Capability;

use super::fake::Fake;
use super::log::Log;
use super::*;

/// `audit` consumes all of `mail`, and handles `mail.sent` alone.
struct Half {
    bed: Bed,
    mail: Broker,
    audit: Broker,
    fake: Fake,
    notes: Notes,
}

impl Half {
    async fn on(fake: impl FnOnce(Fake) -> Fake, handlers: usize) -> Self {
        let bed = Bed::new().await;
        let fake = fake(bed.fake("audit"));
        let audit = Broker::builder(fake.connection()).consumes([filter("mail.>")]);
        let half = Self {
            mail: bed.mail(),
            audit: audit.concurrency(handlers).build().unwrap(),
            bed,
            fake,
            notes: Notes::default(),
        };
        half.listen("mail.sent").await;
        half
    }

    async fn listen(&self, pattern: &str) {
        let (seen, running) = (self.notes.clone(), Arc::new(AtomicUsize::new(0)));
        self.audit
            .subscribe(pattern, move |event| {
                let (seen, running) = (seen.clone(), Arc::clone(&running));
                async move {
                    let beside = running.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                    seen.write(format!("{} #{} beside {beside}", event.name, event.attempt));
                    running.fetch_sub(1, Ordering::Relaxed);
                    Ok(())
                }
            })
            .await
            .unwrap();
    }

    async fn publish(&self, event: &str, times: usize) {
        for _ in 0..times {
            self.mail.publish(event, &()).await.unwrap();
        }
    }

    /// Those that are out, and those that still wait on the broker.
    async fn owed(&self) -> (u64, u64) {
        self.bed.clock.advance(Duration::ZERO).await;
        let administration = self.bed.controller.administration().unwrap();
        let consumer = mesh_testkit::fixtures::consumer(StreamName::Events, "n1_audit");
        let state = administration.inspect_consumer(&consumer).await.unwrap().unwrap();
        (state.in_flight.unwrap(), state.pending)
    }
}

fn as_it_is(fake: Fake) -> Fake {
    fake
}

fn without_delays(fake: Fake) -> Fake {
    fake.without(Capability::DelayedNak)
}

#[tokio::test]
async fn events_without_a_handler_do_not_hold_up_one_that_has_one() {
    let half = Half::on(as_it_is, 16).await;
    half.publish("lost", 16).await;
    half.publish("sent", 1).await;
    // No time passes.
    half.notes.wait(1).await;
    assert_eq!(half.notes.read(), ["sent #1 beside 0"]);
}

#[tokio::test]
async fn nearly_as_many_as_the_broker_has_out_hold_up_nothing() {
    let half = Half::on(as_it_is, 1).await;
    half.publish("lost", 999).await;
    half.publish("sent", 3).await;
    half.notes.wait(3).await;
    assert_eq!(half.owed().await, (999, 0));
    assert_eq!(half.audit.health().unhandled_events, 999);
}

#[tokio::test]
async fn as_many_as_the_broker_has_out_stop_all_until_they_are_given_up() {
    let half = Half::on(as_it_is, 16).await;
    half.publish("lost", 1_000).await;
    half.publish("sent", 1).await;
    assert_eq!(half.owed().await, (1_000, 1));
    // Five tries of 30 s and the waits between them.
    half.bed.clock.advance(164 * SECOND).await;
    assert!(half.notes.read().is_empty());
    half.bed.clock.advance(SECOND).await;
    half.notes.wait(1).await;
}

#[tokio::test]
async fn where_the_broker_can_not_wait_fewer_are_held() {
    let half = Half::on(without_delays, 1).await;
    half.publish("lost", 64).await;
    half.publish("sent", 1).await;
    half.notes.wait(1).await;
    assert_eq!(half.owed().await, (64, 0));
    half.publish("lost", 10).await;
    half.publish("sent", 1).await;
    assert_eq!(half.owed().await, (65, 10), "one has the handler's place");
    assert_eq!(half.audit.health().unhandled_events, 65);
    half.listen("mail.lost").await;
    half.notes.wait(76).await;
    assert_eq!(half.owed().await, (0, 0));
}

#[tokio::test]
async fn an_event_without_a_handler_is_put_back_for_longer_each_time() {
    let half = Half::on(as_it_is, 16).await;
    half.publish("lost", 1).await;
    for tries in 1..5 {
        half.owed().await;
        half.bed.clock.advance(30 * SECOND).await;
        assert_eq!(half.fake.count("nak with a delay"), tries);
        assert_eq!(half.audit.health().unhandled_events, 0, "it waits on the broker");
        let wait = SECOND * 2_u32.pow(u32::try_from(tries).unwrap() - 1);
        half.bed.clock.advance(wait - Duration::from_millis(1)).await;
        assert_eq!(half.audit.health().unhandled_events, 0);
        half.bed.clock.advance(Duration::from_millis(1)).await;
        assert_eq!(half.audit.health().unhandled_events, 1, "it is here again");
    }
    half.bed.clock.advance(30 * SECOND).await;
    let letter = half.bed.dead_letter().await;
    assert_eq!((letter.reason, letter.deliveries), (DeadReason::Terminated, Some(5)));
    assert_eq!(letter.error.unwrap().as_str(), "no handler for mail.lost");
}

#[tokio::test]
async fn where_the_broker_can_not_wait_it_is_held_on_and_put_back_plainly() {
    let half = Half::on(without_delays, 16).await;
    half.publish("lost", 1).await;
    half.owed().await;
    half.bed.clock.advance(31 * SECOND - Duration::from_millis(1)).await;
    assert_eq!(half.fake.count("nak"), 0);
    half.bed.clock.advance(Duration::from_millis(1)).await;
    assert_eq!(half.fake.count("nak"), 1);
}

#[tokio::test]
async fn what_waited_runs_when_its_handler_comes_and_no_more_at_a_time_than_may() {
    let half = Half::on(as_it_is, 1).await;
    half.publish("lost", 5).await;
    assert_eq!(half.owed().await, (5, 0));
    half.listen("mail.lost").await;
    assert_eq!(half.notes.wait(5).await, ["lost #1 beside 0"; 5]);
    half.publish("sent", 1).await;
    half.notes.wait(6).await;
    assert_eq!(half.owed().await, (0, 0));
    assert_eq!(half.audit.health().unhandled_events, 0);
}

#[tokio::test]
async fn what_waits_for_its_handlers_turn_goes_back_at_once_when_its_broker_closes() {
    let half = Half::on(as_it_is, 1).await;
    half.publish("lost", 3).await;
    assert_eq!(half.owed().await, (3, 0));
    let seen = half.notes.clone();
    let stuck = move |_| {
        seen.write("begun");
        std::future::pending()
    };
    half.audit.subscribe("mail.lost", stuck).await.unwrap();
    half.notes.wait(1).await;
    let audit = half.audit.clone();
    let closing = tokio::spawn(async move { audit.close(SECOND).await });
    half.bed.clock.advance(Duration::ZERO).await;
    assert_eq!(half.fake.count("nak"), 2, "the one that runs has its time");
    half.bed.clock.advance(2 * SECOND).await;
    assert_eq!(closing.await.unwrap().released, 3);
}

#[tokio::test]
async fn the_log_says_once_of_each_event_that_nobody_handles_it() {
    Log::begin();
    let half = Half::on(as_it_is, 16).await;
    half.publish("lost", 20).await;
    half.owed().await;
    assert!(Log::read().warnings.is_empty(), "a handler may still come");
    half.bed.clock.advance(100 * SECOND).await;
    let said = Log::read().warnings;
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("events of mail.lost have no handler"), "{said:?}");
}
