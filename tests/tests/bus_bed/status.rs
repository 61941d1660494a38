//! How a bus is told.

use mesh_control::genesis::{Genesis, Status};
use mesh_core::dead_letter::{DeadLetter, DeadReason};
use mesh_core::name::ConsumerName;
use mesh_core::port::{AppendOptions, Limits, Reason};
use mesh_core::time::Timestamp;
use mesh_core::topology::{ConsumerRef, StreamName};
use serde_json::{Value, json};

use crate::bed::{Bed, of_module, topology};

async fn look(bed: &Bed, known: Option<Timestamp>) -> Status {
    let topology = topology();
    let genesis = Genesis::of(&topology);
    crate::soon(Status::look(&genesis, &bed.controller, known)).await.unwrap()
}

fn alarms(status: &Status) -> Vec<&str> {
    assert!(status.alarms.iter().all(|alarm| !alarm.next.is_empty()));
    status.alarms.iter().map(|alarm| alarm.what.as_str()).collect()
}

#[tokio::test]
async fn a_mesh_that_was_just_raised_is_well_and_one_that_was_not_lacks_everything() {
    let bed = Bed::new().await;
    let nothing = look(&bed, None).await;
    assert_eq!(nothing.alarms.len(), 14, "{:?}", nothing.alarms);
    assert!(alarms(&nothing).contains(&"EVENTS/n1_mail is missing"));
    let bed = Bed::raised().await;
    let well = look(&bed, None).await;
    assert_eq!(alarms(&well), [""; 0]);
    assert!(well.broker.as_deref().unwrap().starts_with("nats-server"));
    assert!(well.epoch.is_some());
    assert_eq!(well.consumers.len(), 8);
    assert!(well.consumers.iter().all(|report| report.state.unwrap().is_read == Some(false)));
}

#[tokio::test]
async fn a_consumer_that_owes_and_has_no_reader_is_named_and_one_with_a_reader_is_not() {
    let bed = Bed::raised().await;
    let shop = bed.connect("shop.n1").await;
    let mail = bed.connect("mail.n1").await;
    let streams = mail.streams().unwrap();
    let reading = streams.consume(of_module("mail"), mesh_core::port::ConsumeOptions::default());
    let _reading = crate::soon(reading).await.unwrap();
    bed.emit(&shop, "1").await.unwrap();
    let expected =
        ["EVENTS/n1_log owes 1, and nobody reads it", "EVENTS/n2_log owes 1, and nobody reads it"];
    let status = crate::soon(async {
        loop {
            let status = look(&bed, None).await;
            if alarms(&status) == expected {
                return status;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    })
    .await;
    let of = |module: &str| {
        let found = status.consumers.iter().find(|report| report.consumer == of_module(module));
        found.unwrap().state.unwrap()
    };
    // The reader is in another account than the streams.
    assert_eq!(of("mail").is_read, Some(true));
    assert_eq!((of("mail").owed(), of("mail").in_flight), (1, Some(1)));
    assert_eq!(of("log").is_read, Some(false));
    assert!(status.alarms[0].next.contains("log runs on n1"), "{:?}", status.alarms);
}

#[tokio::test]
async fn a_consumer_that_is_paused_is_read_by_nobody_though_its_reader_is_there() {
    let bed = Bed::raised().await;
    let shop = bed.connect("shop.n1").await;
    let mail = bed.connect("mail.n1").await;
    let streams = mail.streams().unwrap();
    let reading = streams.consume(of_module("mail"), mesh_core::port::ConsumeOptions::default());
    let _reading = crate::soon(reading).await.unwrap();
    let until = json!({ "pause_until": "2999-01-01T00:00:00Z" });
    let paused = bed.hand.done("CONSUMER.PAUSE.EVENTS.n1_mail", &until).await;
    assert_eq!(paused["paused"], true, "{paused}");
    bed.emit(&shop, "1").await.unwrap();
    let status = look(&bed, None).await;
    let told = "EVENTS/n1_mail owes 1, and nobody reads it";
    let alarm = status.alarms.iter().find(|alarm| alarm.what == told);
    assert!(alarm.unwrap().next.contains("paused"), "{:?}", status.alarms);
}

/// A letter of that consumer.
fn letter(name: &str, reason: DeadReason, minute: i64) -> DeadLetter {
    DeadLetter {
        subject: None,
        consumer: ConsumerRef::new(StreamName::Events, ConsumerName::new(name).unwrap()),
        sequence: Some(1),
        deliveries: Some(5),
        reason,
        error: Some(Reason::new("no")),
        time: Timestamp::from_millis(1_700_000_000_000 + minute * 60_000),
    }
}

#[tokio::test]
async fn dead_letters_are_counted_by_consumer_and_reason_with_the_oldest() {
    let bed = Bed::raised().await;
    let streams = bed.controller.streams().unwrap();
    for letter in [
        letter("n1_mail", DeadReason::MaxDeliver, 3),
        letter("n1_mail", DeadReason::MaxDeliver, 1),
        letter("n1_mail", DeadReason::Terminated, 2),
        letter("n1_log", DeadReason::Undecodable, 5),
    ] {
        let message = letter.to_message(None, &Limits::default());
        crate::soon(streams.append(message, AppendOptions::default())).await.unwrap();
    }
    bed.hand.append("mesh.events.dead", &[], "no letter").await;
    let status = look(&bed, None).await;
    let letters = &status.dead_letters;
    assert_eq!(
        (letters.count, letters.read, letters.unreadable, letters.new),
        (Some(5), Some(5), 1, 5)
    );
    let by: Vec<_> = letters
        .by
        .iter()
        .map(|alike| {
            let minute = (alike.oldest.as_millis() - 1_700_000_000_000) / 60_000;
            (alike.consumer.as_str(), alike.reason.as_str(), alike.count, minute)
        })
        .collect();
    let expected = [
        ("n1_log", "undecodable", 1, 5),
        ("n1_mail", "max-deliver", 2, 1),
        ("n1_mail", "terminated", 1, 2),
    ];
    assert_eq!(by, expected);
    assert_eq!(letters.oldest, Some(letter("n1_mail", DeadReason::MaxDeliver, 1).time));
    assert_eq!(alarms(&status), ["5 events were given up"]);
    // Those that were looked at need nobody; what can't be read has no time.
    let known = letter("n1_mail", DeadReason::MaxDeliver, 4).time;
    let status = look(&bed, Some(known)).await;
    assert_eq!(alarms(&status), ["2 events were given up"]);
    // One that was deleted leaves a hole.
    bed.hand.done("STREAM.MSG.DELETE.EVENTS_DEAD", &json!({ "seq": 2 })).await;
    let letters = look(&bed, None).await.dead_letters;
    assert_eq!((letters.count, letters.read), (Some(4), Some(4)));
}

#[tokio::test]
async fn a_stream_from_four_fifths_of_its_bytes_on_is_an_alarm() {
    let bed = Bed::raised().await;
    let shop = bed.connect("shop.n1").await;
    for _event in 0..8 {
        bed.emit(&shop, &"x".repeat(1000)).await.unwrap();
    }
    let bytes = bed.hand.stream("EVENTS").await["state"]["bytes"].as_u64().unwrap();
    for (max, alarmed) in [(bytes * 100 / 79, false), (bytes * 100 / 80, true)] {
        let changed = bed.hand.change_stream("EVENTS", &json!({ "max_bytes": max })).await;
        assert_eq!(changed["error"], Value::Null);
        let status = look(&bed, None).await;
        let full = alarms(&status).iter().any(|what| what.starts_with("EVENTS is full to"));
        assert_eq!(full, alarmed, "{:?}", status.alarms);
        // The limit that the server has counts, and that it is another than it should be is told, too.
        assert!(alarms(&status).iter().any(|what| what.starts_with("EVENTS: max_bytes is")));
    }
}

#[tokio::test]
async fn whoever_is_not_the_controller_is_told_so() {
    let bed = Bed::raised().await;
    let mail = bed.connect("mail.n1").await;
    let topology = topology();
    let refused = Status::look(&Genesis::of(&topology), &mail, None).await.unwrap_err().to_string();
    assert!(refused.contains("only the controller administers"), "{refused}");
}
