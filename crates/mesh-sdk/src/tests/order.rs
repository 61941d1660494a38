//! Events of a key, one after the other.

use mesh_core::dead_letter::DeadReason;
use mesh_core::port::Capability;

use super::fake::Fake;
use super::*;
use crate::{HandlerError, ReceivedEvent, Subscription};

/// `mail` emits, and `audit` handles by key: data is `[key, number, how often it fails]`.
pub(super) struct Ordered {
    pub(super) bed: Bed,
    pub(super) mail: Broker,
    pub(super) fake: Fake,
    pub(super) audit: Broker,
    pub(super) notes: Notes,
}

type Data = (String, u32, u32);

fn by_key(pattern: &str) -> Subscription {
    Subscription::new(filter(pattern)).ordered_by(|event| event.decode::<Data>().unwrap().0)
}

impl Ordered {
    pub(super) async fn on(fake: impl FnOnce(Fake) -> Fake, handlers: usize) -> Self {
        let bed = Bed::new().await;
        let fake = fake(bed.fake("audit"));
        let audit = Broker::builder(fake.connection()).consumes([filter("mail.>")]);
        let audit = audit.concurrency(handlers).build().unwrap();
        let (mail, notes) = (bed.mail(), Notes::default());
        Self { mail, audit, bed, fake, notes }
    }

    async fn listen(&self, to: Subscription) {
        let notes = self.notes.clone();
        self.audit.subscribe(to, move |event| fails_so_often(event, notes.clone())).await.unwrap();
    }

    async fn publish(&self, key: &str, number: u32, failures: u32) {
        self.mail.publish("sent", &(key, number, failures)).await.unwrap();
    }

    async fn settle(&self) {
        self.bed.clock.advance(Duration::ZERO).await;
    }

    /// Another reader of the same consumer, whose notes are its own.
    async fn another(&self) -> (Broker, Notes) {
        let (bed, notes) = (&self.bed, Notes::default());
        let audit = bed.audit().concurrency(1).build().unwrap();
        let seen = notes.clone();
        let handler = move |event| fails_so_often(event, seen.clone());
        audit.subscribe(by_key("mail.sent"), handler).await.unwrap();
        (audit, notes)
    }
}

async fn fails_so_often(event: ReceivedEvent, notes: Notes) -> Result<(), HandlerError> {
    let (key, number, failures) = event.decode::<Data>()?;
    notes.write(format!("{key}{number} #{}", event.attempt));
    match event.attempt <= failures {
        true => Err(HandlerError::retry("as told")),
        false => Ok(()),
    }
}

fn as_it_is(fake: Fake) -> Fake {
    fake
}

fn without_delays(fake: Fake) -> Fake {
    fake.without(Capability::DelayedNak)
}

#[tokio::test]
async fn one_that_is_to_be_tried_again_holds_back_the_later_ones_of_its_key() {
    for transport in [as_it_is, without_delays] {
        let ordered = Ordered::on(transport, 16).await;
        ordered.listen(by_key("mail.sent")).await;
        for (key, number, failures) in [("a", 1, 2), ("a", 2, 0), ("b", 1, 0), ("a", 3, 1)] {
            ordered.publish(key, number, failures).await;
        }
        assert_eq!(ordered.notes.wait(2).await, ["a1 #1", "b1 #1"], "no time has passed");
        assert_eq!(ordered.audit.health().held_back_events, 2);
        ordered.bed.clock.advance(SECOND).await;
        assert_eq!(ordered.notes.read().len(), 3);
        ordered.bed.clock.advance(2 * SECOND).await;
        let expected = ["a1 #1", "b1 #1", "a1 #2", "a1 #3", "a2 #1", "a3 #1"];
        assert_eq!(ordered.notes.read(), expected);
        ordered.bed.clock.advance(SECOND).await;
        assert_eq!(ordered.notes.wait(7).await[6], "a3 #2");
        ordered.settle().await;
        assert_eq!(ordered.fake.count("ack"), 4);
        assert_eq!(ordered.fake.notes().read().iter().filter(|n| n.starts_with("nak")).count(), 0);
        assert_eq!(ordered.audit.health().held_back_events, 0);
    }
}

#[tokio::test]
async fn one_whose_tries_are_used_up_or_that_is_rejected_lets_the_next_one_go_on() {
    let ordered = Ordered::on(as_it_is, 16).await;
    ordered.listen(by_key("mail.sent")).await;
    ordered.publish("a", 1, 99).await;
    ordered.publish("a", 2, 0).await;
    ordered.mail.publish("sent", "no data of this kind").await.unwrap();
    ordered.bed.clock.advance(15 * SECOND).await;
    let seen = ordered.notes.wait(6).await;
    assert_eq!(seen, ["a1 #1", "a1 #2", "a1 #3", "a1 #4", "a1 #5", "a2 #1"]);
    let letter = ordered.bed.dead_letter().await;
    assert_eq!(letter.reason, DeadReason::Terminated);
    assert_eq!(letter.error.unwrap().as_str(), "as told");
}

#[tokio::test]
async fn an_event_whose_key_can_not_be_told_is_given_up() {
    let ordered = Ordered::on(as_it_is, 16).await;
    ordered.listen(by_key("mail.sent")).await;
    ordered.mail.publish("sent", "no data of this kind").await.unwrap();
    ordered.publish("a", 1, 0).await;
    assert_eq!(ordered.notes.wait(1).await, ["a1 #1"], "the reader goes on");
    let letter = ordered.bed.dead_letter().await;
    let said = letter.error.unwrap();
    assert_eq!(said.as_str(), "the function that tells the event's key panicked");
}

#[tokio::test]
async fn the_wait_for_another_try_takes_no_handlers_place() {
    for transport in [as_it_is, without_delays] {
        let ordered = Ordered::on(transport, 1).await;
        ordered.listen(by_key("mail.sent")).await;
        for number in 0..50 {
            ordered.publish("a", number, u32::from(number == 0)).await;
        }
        ordered.publish("b", 1, 0).await;
        assert_eq!(ordered.notes.wait(2).await, ["a0 #1", "b1 #1"], "no time has passed");
        ordered.bed.clock.advance(SECOND).await;
        assert_eq!(ordered.notes.wait(52).await[51], "a49 #1");
    }
}

#[tokio::test]
async fn with_more_of_a_key_than_may_be_in_hand_others_wait_and_none_is_lost() {
    let ordered = Ordered::on(without_delays, 1).await;
    ordered.listen(by_key("mail.sent")).await;
    for number in 0..200 {
        ordered.publish("a", number, u32::from(number == 0)).await;
    }
    ordered.publish("b", 1, 0).await;
    ordered.settle().await;
    assert_eq!(ordered.notes.read(), ["a0 #1"]);
    assert_eq!(
        ordered.audit.health().held_back_events,
        80,
        "with the one that waits 81 are in hand"
    );
    ordered.bed.clock.advance(SECOND).await;
    let seen = ordered.notes.wait(202).await;
    let of_a: Vec<_> = seen.iter().skip(1).filter(|note| note.starts_with('a')).collect();
    let expected: Vec<_> =
        (0..200).map(|n| format!("a{n} #{}", if n == 0 { 2 } else { 1 })).collect();
    assert_eq!(of_a, expected.iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn what_came_before_the_subscription_has_its_order_too() {
    let ordered = Ordered::on(as_it_is, 16).await;
    ordered.audit.subscribe("mail.lost", |_| async { Ok(()) }).await.unwrap();
    for number in 0..30 {
        ordered.publish("a", number, u32::from(number % 10 == 0)).await;
    }
    ordered.settle().await;
    assert_eq!(ordered.audit.health().unhandled_events, 30);
    ordered.listen(by_key("mail.*")).await;
    for number in 30..40 {
        ordered.publish("a", number, 0).await;
    }
    ordered.bed.clock.advance(10 * SECOND).await;
    let seen = ordered.notes.wait(43).await;
    let first: Vec<_> = seen.iter().filter(|note| !note.ends_with("#2")).cloned().collect();
    assert_eq!(first, (0..40).map(|number| format!("a{number} #1")).collect::<Vec<_>>());
}

#[tokio::test]
async fn two_handlers_of_an_event_are_each_in_order_and_one_fails_alone() {
    let ordered = Ordered::on(as_it_is, 16).await;
    ordered.listen(by_key("mail.sent")).await;
    let seen = ordered.notes.clone();
    ordered
        .audit
        .subscribe("mail.*", move |event| {
            seen.write(format!("any {}", event.attempt));
            async move {
                match event.attempt {
                    1 => Err(HandlerError::retry("once")),
                    _ => Ok(()),
                }
            }
        })
        .await
        .unwrap();
    ordered.publish("a", 1, 1).await;
    ordered.publish("a", 2, 0).await;
    ordered.bed.clock.advance(5 * SECOND).await;
    let mut seen = ordered.notes.wait(7).await;
    let by_key: Vec<_> =
        seen.iter().filter(|note| note.starts_with('a') && note.contains('#')).collect();
    assert_eq!(by_key, ["a1 #1", "a1 #2", "a2 #1"]);
    seen.sort();
    assert_eq!(seen[3..], ["any 1", "any 1", "any 2", "any 2"]);
}

#[tokio::test]
async fn what_is_given_back_at_a_close_goes_back_in_order() {
    let ordered = Ordered::on(as_it_is, 1).await;
    ordered.listen(by_key("mail.sent")).await;
    for number in 1..6 {
        ordered.publish("a", number, u32::from(number == 1)).await;
    }
    ordered.notes.wait(1).await;
    let closed = ordered.audit.close(10 * SECOND).await;
    assert_eq!((closed.finished, closed.released), (0, 5));
    let notes = ordered.fake.notes().read();
    assert_eq!(
        notes,
        ["consume", "left", "nak", "nak", "nak", "nak", "nak"],
        "to others, not here"
    );
    let (_other, notes) = ordered.another().await;
    let seen = notes.wait(5).await;
    assert_eq!(seen, ["a1 #2", "a2 #2", "a3 #2", "a4 #2", "a5 #2"]);
}

#[tokio::test]
async fn at_a_close_none_of_a_key_goes_to_another_reader_while_an_earlier_one_runs() {
    let ordered = Ordered::on(as_it_is, 16).await;
    let (go, seen) = (Arc::new(Notify::new()), ordered.notes.clone());
    let wait = Arc::clone(&go);
    ordered
        .audit
        .subscribe(by_key("mail.sent"), move |event| {
            let (wait, noted) = (Arc::clone(&wait), fails_so_often(event, seen.clone()));
            async move {
                noted.await?;
                wait.notified().await;
                Ok(())
            }
        })
        .await
        .unwrap();
    ordered.publish("a", 1, 0).await;
    ordered.publish("a", 2, 0).await;
    ordered.notes.wait(1).await;
    let (_other, notes) = ordered.another().await;
    let audit = ordered.audit.clone();
    let closing = tokio::spawn(async move { audit.close(10 * SECOND).await });
    ordered.bed.clock.advance(SECOND).await;
    assert!(notes.read().is_empty(), "the first still runs: {:?}", notes.read());
    go.notify_one();
    let closed = closing.await.unwrap();
    assert_eq!((closed.finished, closed.released), (1, 1));
    assert_eq!(notes.wait(1).await, ["a2 #2"]);
    assert_eq!(ordered.notes.read(), ["a1 #1"]);
}
