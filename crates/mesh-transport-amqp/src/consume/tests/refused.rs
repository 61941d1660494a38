use lapin::types::{AMQPValue, FieldArray};
use mesh_core::port::{ConsumeOptions, ReceiveError, RefusalReason};
use mesh_core::topology::StreamName;
use serde_json::json;

use super::*;

fn refused(word: &ReceiveError) -> (&str, RefusalReason) {
    match word {
        ReceiveError::Refused { subject, reason } => (subject.as_str(), *reason),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_no_sender_is_proven_of_is_refused_counted_and_a_dead_letter() {
    let bed = bed(&["shop.>"]).await;
    let mail = bed.connect("n1.mail").await;
    let controller = bed.controller().await;
    let of_dead = consumer(StreamName::EventsDead, "controller");
    let mut dead = read(&controller, of_dead, ConsumeOptions::default()).await;
    let mut deliveries = read(&mail, of_mail(), ConsumeOptions::default()).await;
    Bare::connect(&bed).await.event("shop.sold", "whose?", &[], false).await;
    let word = told(&mut deliveries).await;
    assert_eq!(refused(&word), ("shop.sold", RefusalReason::Unproven));
    let letter = next(&mut dead, "whose?").await;
    let headers = letter.message().headers();
    assert_eq!(headers.value("x-dead-reason"), Some("terminated"));
    assert_eq!(headers.value("x-dead-consumer"), Some("n1_mail"));
    ack(letter).await;
    assert!(format!("{:?}", mail.transport()).contains("refused: 1"), "{mail:?}");
}

#[tokio::test]
async fn a_key_that_came_round_the_brokers_check_is_refused_and_settled_by_nobody() {
    let bed = bed(&["shop.>"]).await;
    let mail = bed.connect("n1.mail").await;
    let bare = Bare::connect(&bed).await;
    let copies = AMQPValue::FieldArray(FieldArray::from(vec![text("shop.sold")]));
    let mut deliveries = read(&mail, of_mail(), patterns(&["mesh.events.shop.>"])).await;
    bare.event("vault.opened", "forged", &[("CC", copies)], true).await;
    bare.event("shop.sold", "true", &[], true).await;
    let word = told(&mut deliveries).await;
    assert_eq!(refused(&word), ("mesh.events.vault.opened", RefusalReason::UnexpectedSubject));
    ack(next(&mut deliveries, "true").await).await;
    drop(deliveries);
    come(mail.transport().flush(std::time::Duration::from_secs(20))).await.unwrap();
    // It went back, and is for whoever asks for it.
    let mut all = read(&mail, of_mail(), ConsumeOptions::default()).await;
    ack(next(&mut all, "forged").await).await;
}

#[tokio::test]
async fn a_binding_that_catches_all_catches_nobody_elses_replay() {
    let bed = bed(&["*.>"]).await;
    let mail = bed.connect("n1.mail").await;
    let mut deliveries = read(&mail, of_mail(), in_flight(1)).await;
    append(&mail, "mesh.replay.n1_crm.shop.sold", "crm's").await;
    append(&mail, "mesh.replay.n1_mail.shop.sold", "mine").await;
    let mine = next(&mut deliveries, "mine").await;
    assert_eq!(mine.message().subject().as_str(), "mesh.replay.n1_mail.shop.sold");
    ack(mine).await;
    append(&mail, "mesh.events.shop.sold", "an event").await;
    ack(next(&mut deliveries, "an event").await).await;
    // It did not go back either.
    drop(deliveries);
    come(mail.transport().flush(std::time::Duration::from_secs(20))).await.unwrap();
    let controller = bed.controller().await;
    let administration = controller.administration().unwrap();
    let state = come(administration.inspect_consumer(&of_mail())).await.unwrap().unwrap();
    assert_eq!(state.pending, 0);
}

#[tokio::test]
async fn reports_outcomes_and_what_was_missed_are_read_together_one_at_a_time() {
    let bed = bed(&["shop.>"]).await;
    let (host, controller) = (bed.host_of("n1").await, bed.controller().await);
    let of_control = consumer(StreamName::Control, "controller");
    let mut deliveries = read(&controller, of_control, ConsumeOptions::default()).await;
    append(&host, "mesh.control.n1.report", "a report").await;
    append(&host, "mesh.control.built", "an outcome").await;
    let mut subjects = Vec::new();
    for _ in 0..2 {
        let delivery = come(deliveries.next()).await.unwrap().unwrap();
        subjects.push(delivery.message().subject().to_string());
        ack(delivery).await;
    }
    subjects.sort_unstable();
    assert_eq!(subjects, ["mesh.control.built", "mesh.control.n1.report"]);
    // A controller is nobody who reports.
    let controllers = controller.streams().unwrap();
    let enrol = controllers.append(message("mesh.control.enrol", "?"), AppendOptions::default());
    come(enrol).await.unwrap();
    let word = told(&mut deliveries).await;
    assert_eq!(refused(&word), ("control", RefusalReason::Malformed));
    append(&host, "mesh.control.n1.report", "and on").await;
    ack(next(&mut deliveries, "and on").await).await;
}

#[tokio::test]
async fn a_classic_queue_is_read_and_what_a_publisher_counts_is_not_believed() {
    let bed = Bed::new().await;
    bed.exchange("mesh.events").await;
    bed.queue("n1.mail.events", json!({})).await;
    bed.bind("mesh.events", "n1.mail.events", "shop.#").await;
    let mail = bed.connect("n1.mail").await;
    let mut deliveries = read(&mail, of_mail(), ConsumeOptions::default()).await;
    let forged = ("x-delivery-count", AMQPValue::LongLongInt(77));
    Bare::connect(&bed).await.event("shop.sold", "1", &[forged], true).await;
    for attempt in [1, 2, 2] {
        let delivery = next(&mut deliveries, "1").await;
        assert_eq!(delivery.info().attempt, attempt);
        come(delivery.nak(None)).await.unwrap();
    }
    ack(next(&mut deliveries, "1").await).await;
}
