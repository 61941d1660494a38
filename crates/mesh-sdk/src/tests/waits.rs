//! The wait before another try, where the broker itself can't wait (protocol §7).

use mesh_core::port::Capability;

use super::fake::Fake;
use super::*;
use crate::{HandlerError, RetryPolicy};

/// `audit` on a transport that can't wait; its handler fails the first try of what says `fail`, to be
/// tried again after `wait`.
struct Waiting {
    bed: Bed,
    mail: Broker,
    audit: Broker,
    fake: Fake,
    notes: Notes,
}

impl Waiting {
    async fn new(wait: Duration, build: impl FnOnce(BrokerBuilder) -> BrokerBuilder) -> Self {
        Self::on(|fake| fake, wait, build).await
    }

    async fn on(
        fake: impl FnOnce(Fake) -> Fake,
        wait: Duration,
        build: impl FnOnce(BrokerBuilder) -> BrokerBuilder,
    ) -> Self {
        let bed = Bed::new().await;
        let fake = fake(bed.fake("audit").without(Capability::DelayedNak));
        let audit = build(Broker::builder(fake.connection()).consumes([filter("mail.>")]));
        let (audit, notes) = (audit.build().unwrap(), Notes::default());
        let seen = notes.clone();
        audit
            .subscribe("mail.sent", move |event| {
                let said: String = event.decode().unwrap();
                seen.write(format!("{said} #{}", event.attempt));
                async move {
                    match event.attempt {
                        1 if said.starts_with("fail") => {
                            Err(HandlerError::retry_after("not yet", wait))
                        }
                        _ => Ok(()),
                    }
                }
            })
            .await
            .unwrap();
        Self { mail: bed.mail(), bed, audit, fake, notes }
    }

    async fn publish(&self, what: &str) {
        self.mail.publish("sent", what).await.unwrap();
    }
}

fn as_it_is(builder: BrokerBuilder) -> BrokerBuilder {
    builder
}

#[tokio::test]
async fn a_delivery_is_held_for_its_wait_and_then_put_back_plainly() {
    let waiting = Waiting::new(SECOND, as_it_is).await;
    waiting.publish("fail").await;
    waiting.notes.wait(1).await;
    waiting.bed.clock.advance(SECOND - Duration::from_millis(1)).await;
    assert_eq!(waiting.notes.read(), ["fail #1"], "before its wait is over");
    assert_eq!(waiting.fake.notes().read(), ["consume"]);
    waiting.bed.clock.advance(Duration::from_millis(1)).await;
    assert_eq!(waiting.notes.wait(2).await, ["fail #1", "fail #2"]);
    assert_eq!(waiting.fake.notes().wait(3).await, ["consume", "nak", "ack"]);
}

#[tokio::test]
async fn a_held_delivery_keeps_its_claim() {
    let waiting = Waiting::new(90 * SECOND, as_it_is).await;
    waiting.publish("fail").await;
    waiting.notes.wait(1).await;
    waiting.bed.clock.advance(89 * SECOND).await;
    assert_eq!(waiting.notes.read(), ["fail #1"], "three claims long");
    assert_eq!(waiting.fake.count("progress"), 8, "every third of a claim");
    waiting.bed.clock.advance(SECOND).await;
    assert_eq!(waiting.notes.wait(2).await, ["fail #1", "fail #2"]);
}

#[tokio::test]
async fn claims_that_do_not_end_are_not_renewed() {
    let without = |fake: Fake| fake.without(Capability::ClaimTimeout);
    let waiting = Waiting::on(without, 25 * SECOND, as_it_is).await;
    waiting.publish("fail").await;
    waiting.notes.wait(1).await;
    waiting.bed.clock.advance(25 * SECOND).await;
    waiting.notes.wait(2).await;
    assert_eq!(waiting.fake.count("progress"), 0);
}

#[tokio::test]
async fn others_are_handled_while_one_is_held() {
    let waiting = Waiting::new(SECOND, |builder| builder.concurrency(1)).await;
    for what in ["fail", "good", "better"] {
        waiting.publish(what).await;
    }
    assert_eq!(waiting.notes.wait(3).await, ["fail #1", "good #1", "better #1"]);
    waiting.bed.clock.advance(SECOND).await;
    assert_eq!(waiting.notes.wait(4).await[3], "fail #2");
}

#[tokio::test]
async fn what_is_held_is_bounded() {
    let waiting = Waiting::new(SECOND, |builder| builder.concurrency(1)).await;
    for number in 0..40 {
        waiting.publish(&format!("fail {number}")).await;
    }
    waiting.bed.clock.advance(Duration::ZERO).await;
    assert_eq!(waiting.notes.read().len(), 17, "one handler, and sixteen that wait");
    let administration = waiting.bed.controller.administration().unwrap();
    let consumer = mesh_testkit::fixtures::consumer(StreamName::Events, "n1_audit");
    let state = administration.inspect_consumer(&consumer).await.unwrap().unwrap();
    assert_eq!((state.in_flight, state.pending), (Some(17), 23));
    for _ in 0..5 {
        waiting.bed.clock.advance(SECOND).await;
    }
    assert_eq!(waiting.notes.wait(80).await.len(), 80, "each was tried twice");
}

#[tokio::test]
async fn a_held_delivery_goes_back_at_once_when_its_broker_closes() {
    let waiting = Waiting::new(60 * SECOND, as_it_is).await;
    waiting.publish("fail").await;
    waiting.notes.wait(1).await;
    waiting.bed.clock.advance(Duration::ZERO).await;
    let closed = waiting.audit.close(30 * SECOND).await;
    assert_eq!((closed.finished, closed.released, closed.lost), (0, 1, 0));
    waiting.bed.handles_again(&waiting.notes).await;
}

#[tokio::test]
async fn a_held_delivery_goes_back_at_once_when_its_broker_is_dropped() {
    let Waiting { bed, mail, audit, fake: _, notes } = Waiting::new(60 * SECOND, as_it_is).await;
    mail.publish("sent", "fail").await.unwrap();
    notes.wait(1).await;
    bed.clock.advance(Duration::ZERO).await;
    drop(audit);
    bed.handles_again(&notes).await;
}

#[tokio::test]
async fn a_delivery_that_waits_for_its_handler_goes_back_at_once_when_its_broker_closes() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    audit.subscribe("mail.lost", |_| async { Ok(()) }).await.unwrap();
    mail.publish("sent", "good").await.unwrap();
    bed.clock.sleepers(1).await;
    let closed = audit.close(30 * SECOND).await;
    assert_eq!((closed.finished, closed.released), (0, 1));
    notes.write("unhandled");
    bed.handles_again(&notes).await;
}

#[tokio::test]
async fn a_wait_beyond_the_longest_is_the_longest() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let seen = notes.clone();
    audit
        .subscribe("mail.sent", move |event| {
            seen.write(format!("#{}", event.attempt));
            async { Err(HandlerError::retry_after("not today", Duration::MAX)) }
        })
        .await
        .unwrap();
    mail.publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    bed.clock.advance(RetryPolicy::LONGEST - Duration::from_millis(1)).await;
    assert_eq!(notes.read(), ["#1"]);
    bed.clock.advance(Duration::from_millis(1)).await;
    assert_eq!(notes.wait(2).await, ["#1", "#2"]);
}

impl Bed {
    /// Another reader of the consumer is given the event of before, as its second try.
    async fn handles_again(&self, notes: &Notes) {
        let (other, seen) = (self.audit().build().unwrap(), notes.clone());
        other
            .subscribe("mail.sent", move |event| {
                seen.write(format!("again #{}", event.attempt));
                async { Ok(()) }
            })
            .await
            .unwrap();
        assert_eq!(notes.wait(2).await[1], "again #2");
    }
}
