//! What a broker says of itself, and how a lost subscription comes back.

use mesh_core::port::{ConnectionState, ErrorKind, Operation};
use mesh_core::tool::ToolFailure;

use super::fake::Fake;
use super::*;
use crate::{Binding, Health};

/// `audit` with a handler that writes down what it sees.
async fn listening(bed: &Bed) -> (Broker, Notes) {
    let (audit, notes) = (bed.audit().build().unwrap(), Notes::default());
    listen(&audit, "mail.sent", &notes).await;
    (audit, notes)
}

async fn listen(audit: &Broker, pattern: &'static str, notes: &Notes) {
    let seen = notes.clone();
    audit
        .subscribe(pattern, move |event| {
            seen.write(format!("{pattern} {}", event.event.data().as_str()));
            async { Ok(()) }
        })
        .await
        .unwrap();
}

/// Why `mail.sent` is lost, or over.
fn why(health: &Health) -> Option<ErrorKind> {
    health.subscriptions[&filter("mail.sent")].error().map(|error| error.kind())
}

fn is_lost(health: &Health) -> bool {
    matches!(health.subscriptions[&filter("mail.sent")], Binding::Lost(_))
}

impl Bed {
    async fn retire(&self) {
        let consumer = mesh_testkit::fixtures::consumer(StreamName::Events, "n1_audit");
        assert!(self.controller.administration().unwrap().retire(&consumer).await.unwrap());
        self.clock.advance(Duration::ZERO).await;
    }

    /// The controller asserts what should be.
    async fn make_again(&self) {
        let topology = Topology::new()
            .with_module(&node("n1"), &module_name("audit"), &[filter("mail.>")])
            .unwrap();
        let administration = self.controller.administration().unwrap();
        administration.assert(&topology, DriftMode::Report).await.unwrap();
    }
}

#[tokio::test]
async fn a_retired_consumer_is_told_and_read_again_once_it_is_back() {
    let bed = Bed::new().await;
    let (mail, (audit, notes)) = (bed.mail(), listening(&bed).await);
    assert!(audit.health().is_well(), "{:?}", audit.health());
    bed.retire().await;
    assert_eq!(why(&audit.health()), Some(ErrorKind::NotFound));
    assert!(is_lost(&audit.health()) && !audit.health().is_well());
    assert!(audit.health().is_connected(), "only the consumer is gone");
    bed.clock.advance(600 * SECOND).await;
    assert_eq!(why(&audit.health()), Some(ErrorKind::NotFound), "it is still tried");

    bed.make_again().await;
    bed.clock.advance(10 * SECOND).await;
    assert!(audit.health().is_well(), "{:?}", audit.health());
    mail.publish("sent", &7).await.unwrap();
    assert_eq!(notes.wait(1).await, ["mail.sent 7"]);
}

#[tokio::test]
async fn a_consumer_that_stays_away_is_tried_now_and_then() {
    let bed = Bed::new().await;
    let fake = bed.fake("audit");
    let audit = Broker::builder(fake.connection()).consumes([filter("mail.>")]).build().unwrap();
    listen(&audit, "mail.sent", &Notes::default()).await;
    bed.retire().await;
    bed.clock.advance(SECOND).await;
    let soon = fake.count("consume");
    assert!((3..=8).contains(&soon), "{soon} in the first second");
    bed.clock.advance(600 * SECOND).await;
    let later = fake.count("consume") - soon;
    assert!((55..=140).contains(&later), "{later} in ten minutes");
}

#[tokio::test]
async fn subscribing_while_the_consumer_is_away_tries_it_at_once() {
    let bed = Bed::new().await;
    let (mail, (audit, notes)) = (bed.mail(), listening(&bed).await);
    bed.retire().await;
    bed.clock.advance(600 * SECOND).await;
    bed.make_again().await;
    // No time passes.
    listen(&audit, "mail.lost", &notes).await;
    let health = audit.health();
    assert!(health.is_well() && health.subscriptions.len() == 2, "{health:?}");
    mail.publish("lost", &1).await.unwrap();
    mail.publish("sent", &2).await.unwrap();
    let mut seen = notes.wait(2).await;
    seen.sort();
    assert_eq!(seen, ["mail.lost 1", "mail.sent 2"]);
}

#[tokio::test]
async fn a_handler_that_was_refused_is_not_taken() {
    let bed = Bed::new().await;
    let (audit, _notes) = listening(&bed).await;
    bed.retire().await;
    assert!(audit.subscribe("mail.lost", |_| async { Ok(()) }).await.is_err());
    let patterns: Vec<_> = audit.health().subscriptions.into_keys().collect();
    assert_eq!(patterns, [filter("mail.sent")]);
}

#[tokio::test]
async fn a_right_that_was_taken_is_told_apart_and_may_be_given_back() {
    let bed = Bed::new().await;
    let (mail, (audit, notes)) = (bed.mail(), listening(&bed).await);
    bed.broker.set_permissions(audit.principal(), &Permissions::default());
    bed.clock.advance(Duration::ZERO).await;
    assert_eq!(why(&audit.health()), Some(ErrorKind::Denied));
    assert!(is_lost(&audit.health()));
    bed.broker.set_permissions(audit.principal(), &Permissions::everything());
    mail.publish("sent", &7).await.unwrap();
    bed.clock.advance(10 * SECOND).await;
    assert!(audit.health().is_well());
    assert_eq!(notes.wait(1).await, ["mail.sent 7"], "published meanwhile, and not lost");
}

#[tokio::test]
async fn a_tool_whose_right_was_taken_is_told_and_served_again() {
    let bed = Bed::new().await;
    let (mail, audit) = (bed.mail(), bed.audit().build().unwrap());
    mail.handle("send", |_| async { Ok::<_, ToolFailure>(1) }).await.unwrap();
    let send = |broker: &Broker| broker.health().tools[&tool_name("send")].clone();
    assert!(send(&mail).is_bound() && mail.health().is_well());
    bed.broker.set_permissions(mail.principal(), &Permissions::default());
    bed.clock.advance(Duration::ZERO).await;
    match send(&mail) {
        Binding::Lost(error) => assert_eq!(error.kind(), ErrorKind::Denied),
        other => panic!("{other:?}"),
    }
    bed.broker.set_permissions(mail.principal(), &Permissions::everything());
    bed.clock.advance(10 * SECOND).await;
    assert!(mail.health().is_well(), "{:?}", mail.health());
    let answer: u32 = audit.request(("mail", "send"), &()).await.unwrap();
    assert_eq!(answer, 1);
}

#[tokio::test]
async fn a_connection_that_will_not_come_back_is_over_and_not_tried() {
    let bed = Bed::new().await;
    let (audit, _notes) = listening(&bed).await;
    bed.broker.sever(audit.principal());
    bed.clock.advance(Duration::ZERO).await;
    let health = audit.health();
    assert!(matches!(health.connection, Some(ConnectionState::Disconnected(_))), "{health:?}");
    assert_eq!(why(&health), Some(ErrorKind::Disconnected));
    assert!(!is_lost(&health) && !health.is_connected() && !health.is_well());
    assert_eq!(bed.clock.asleep(), 0, "nothing is waited for");
    let again = audit.subscribe("mail.lost", |_| async { Ok(()) }).await.unwrap_err();
    assert!(again.to_string().contains("disconnected"), "{again}");
}

#[tokio::test]
async fn a_connection_that_was_closed_by_other_hands_is_over_as_closed() {
    let bed = Bed::new().await;
    let (mail, (audit, _notes)) = (bed.mail(), listening(&bed).await);
    mail.handle("send", |_| async { Ok::<_, ToolFailure>(1) }).await.unwrap();
    for broker in [&mail, &audit] {
        broker.0.connection.transport().close(SECOND).await;
    }
    bed.clock.advance(Duration::ZERO).await;
    assert_eq!(why(&audit.health()), Some(ErrorKind::Closed));
    assert!(!is_lost(&audit.health()));
    let again = mail.handle("send", |_| async { Ok::<_, ToolFailure>(1) }).await.unwrap_err();
    assert!(again.to_string().contains("closed"), "{again}");
}

#[tokio::test]
async fn a_broker_that_drains_says_so_and_a_closed_one_has_nothing() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let (seen, go) = (notes.clone(), Arc::new(Notify::new()));
    let wait = Arc::clone(&go);
    audit
        .subscribe("mail.sent", move |_| {
            let wait = Arc::clone(&wait);
            seen.write("begun");
            async move {
                wait.notified().await;
                Ok(())
            }
        })
        .await
        .unwrap();
    mail.publish("sent", &()).await.unwrap();
    notes.wait(1).await;
    let draining = audit.clone();
    let closing = tokio::spawn(async move { draining.close(SECOND).await });
    bed.clock.advance(Duration::ZERO).await;
    let health = audit.health();
    assert!(health.draining && health.is_connected() && !health.is_well(), "{health:?}");
    assert_eq!(why(&health), Some(ErrorKind::Closed), "nothing more is taken");
    go.notify_one();
    closing.await.unwrap();
    let health = audit.health();
    assert!(!health.draining && health.subscriptions.is_empty(), "{health:?}");
    assert!(matches!(health.connection, Some(ConnectionState::Closed)), "{health:?}");
    assert!(!health.is_well());
}

#[tokio::test]
async fn a_broker_that_closes_while_its_consumer_is_away_keeps_its_time() {
    let bed = Bed::new().await;
    let fake: Fake = bed.fake("audit");
    let audit = Broker::builder(fake.connection()).consumes([filter("mail.>")]).build().unwrap();
    listen(&audit, "mail.sent", &Notes::default()).await;
    let _deaf = fake.clone().deaf(Operation::Consume);
    bed.retire().await;
    // In the midst of a try that never comes back.
    bed.clock.advance(SECOND).await;
    assert_eq!(fake.count("consume"), 2);
    let closing = tokio::spawn(async move { audit.close(SECOND).await });
    bed.clock.advance(Duration::ZERO).await;
    assert!(closing.is_finished());
}

#[tokio::test]
async fn a_reader_that_panicked_is_over_and_not_taken_for_bound() {
    let bed = Bed::new().await;
    let fake = bed.fake("audit").panicking();
    let audit = Broker::builder(fake.connection()).consumes([filter("mail.>")]).build().unwrap();
    listen(&audit, "mail.sent", &Notes::default()).await;
    bed.mail().publish("sent", &()).await.unwrap();
    bed.clock.advance(Duration::ZERO).await;
    assert_eq!(why(&audit.health()), Some(ErrorKind::Broker));
    assert!(audit.subscribe("mail.lost", |_| async { Ok(()) }).await.is_err());
}
