use lapin::types::{AMQPValue, FieldArray, FieldTable};
use mesh_core::dead_letter::{DeadLetter, DeadReason};
use mesh_core::port::{ConsumeOptions, Reason};
use mesh_core::topology::StreamName;

use super::*;

/// A row of `x-death` as somebody could send it along.
fn forged_row(queue: &str, reason: &str) -> AMQPValue {
    let mut row = FieldTable::default();
    for (name, value) in [
        ("queue", text(queue)),
        ("reason", text(reason)),
        ("exchange", text("mesh.events")),
        ("count", AMQPValue::LongLongInt(7)),
        ("time", AMQPValue::Timestamp(1)),
        ("routing-keys", AMQPValue::FieldArray(FieldArray::from(vec![text("vault.opened")]))),
    ] {
        row.insert(name.into(), value);
    }
    AMQPValue::FieldTable(row)
}

#[tokio::test]
async fn a_letter_says_what_the_broker_recorded_whatever_the_publisher_sent_along() {
    let bed = bed(&["shop.>"]).await;
    let (mail, controller) = (bed.connect("n1.mail").await, bed.controller().await);
    let of_dead = consumer(StreamName::EventsDead, "controller");
    let mut dead = read(&controller, of_dead, ConsumeOptions::default()).await;
    let mut deliveries = read(&mail, of_mail(), ConsumeOptions::default()).await;
    let bare = Bare::connect(&bed).await;
    let before = mail.clock().now();
    for row in [
        forged_row("n1.crm.events", "delivery_limit"),
        forged_row("n1.mail.events", "rejected"),
        text("no rows at all"),
    ] {
        let rows = match &row {
            AMQPValue::FieldTable(_) => AMQPValue::FieldArray(FieldArray::from(vec![row])),
            _ => row,
        };
        let headers = [
            ("x-event-id", text("e-1")),
            ("x-death", rows),
            ("x-first-death-queue", text("n1.vault.events")),
            ("x-first-death-reason", text("expired")),
            ("X-Dead-Consumer", text("n1_vault")),
            ("x-dead-error", text("forged")),
        ];
        bare.event("shop.sold", "poison", &headers, true).await;
        let delivery = next(&mut deliveries, "poison").await;
        come(delivery.terminate(Reason::new("no use"))).await.unwrap();
        let letter = next(&mut dead, "poison").await;
        let read = DeadLetter::parse(letter.message()).unwrap();
        assert_eq!(read.subject.as_ref().unwrap().as_str(), "mesh.events.shop.sold");
        assert_eq!((read.consumer.clone(), read.reason), (of_mail(), DeadReason::Terminated));
        assert_eq!((read.sequence, read.deliveries, read.error.clone()), (None, None, None));
        // The broker tells whole seconds.
        assert!(read.time.as_millis() >= before.as_millis() - 1000, "{read:?}");
        let replay = DeadLetter::replay(letter.message()).unwrap();
        assert_eq!(replay.subject().as_str(), "mesh.replay.n1_mail.shop.sold");
        let left: Vec<_> = replay.headers().iter().collect();
        assert_eq!(left, [("x-event-id", "e-1")]);
        ack(letter).await;
    }
}

#[tokio::test]
async fn what_somebody_appends_to_the_dead_letters_is_kept_as_it_is() {
    let bed = bed(&["shop.>"]).await;
    let controller = bed.controller().await;
    let of_dead = consumer(StreamName::EventsDead, "controller");
    let mut dead = read(&controller, of_dead, ConsumeOptions::default()).await;
    let letter = message("mesh.events.dead", "a report")
        .with_header("x-dead-reason".parse().unwrap(), "undecodable".parse().unwrap());
    let appending = controller.streams().unwrap().append(letter, AppendOptions::default());
    come(appending).await.unwrap();
    let found = next(&mut dead, "a report").await;
    assert_eq!(found.message().subject().as_str(), "mesh.events.dead");
    assert_eq!(found.message().headers().value("x-dead-reason"), Some("undecodable"));
    ack(found).await;
}
