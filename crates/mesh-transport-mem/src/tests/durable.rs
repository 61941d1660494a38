use std::time::Duration;

use mesh_core::message::PublishId;
use mesh_core::port::{AppendOptions, ConsumeOptions, ErrorKind, Position, ReceiveError};
use mesh_core::topology::{ConsumerRef, StreamName};

use super::*;

#[tokio::test]
async fn an_unsettled_delivery_comes_again_after_ack_wait() {
    let bed = Bed::new().await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("a").await;
    let first = next(&mut deliveries).await;
    assert_eq!(first.info().attempt, 1);

    bed.clock.advance(Duration::from_millis(29_999));
    assert!(arrived(&mut deliveries).await.is_none());
    bed.clock.advance(Duration::from_millis(1));
    let second = next(&mut deliveries).await;
    assert_eq!(second.info().attempt, 2);
    assert_eq!(second.info().sequence, first.info().sequence);
}

#[tokio::test]
async fn a_late_acknowledgement_is_still_final() {
    let bed = Bed::new().await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("a").await;
    let first = next(&mut deliveries).await;
    bed.clock.advance(Duration::from_secs(30));
    let second = next(&mut deliveries).await;
    first.ack().await.unwrap();
    second.nak(None).await.unwrap();
    bed.clock.advance(Duration::from_secs(60));
    assert!(arrived(&mut deliveries).await.is_none());
}

#[tokio::test]
async fn progress_begins_the_claim_anew() {
    let bed = Bed::new().await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("a").await;
    let delivery = next(&mut deliveries).await;
    for _ in 0..5 {
        bed.clock.advance(Duration::from_secs(20));
        delivery.progress().await.unwrap();
        assert!(arrived(&mut deliveries).await.is_none());
    }
    bed.clock.advance(Duration::from_secs(30));
    assert_eq!(next(&mut deliveries).await.info().attempt, 2);
}

#[tokio::test]
async fn many_deliveries_need_one_timer() {
    let bed = Bed::new().await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    let mut held = Vec::new();
    for _ in 0..50 {
        bed.emit("a").await;
        held.push(next(&mut deliveries).await);
        bed.clock.advance(Duration::from_millis(1));
    }
    settle().await;
    assert_eq!(bed.broker.statistics().timers, 1);
    assert_eq!(bed.clock.sleepers(), 1);
}

#[tokio::test]
async fn a_known_id_is_stored_again_once_its_window_has_passed() {
    let bed = Bed::new().await;
    let streams = bed.control.streams().unwrap();
    let append = async || {
        let options =
            AppendOptions { id: Some(PublishId::new("n1.mail.e1").unwrap()), ..Default::default() };
        streams.append(message("mesh.events.mail.sent", "a"), options).await.unwrap()
    };
    assert!(!append().await.duplicate);
    bed.clock.advance(Duration::from_millis(119_999));
    let repeat = append().await;
    assert_eq!((repeat.duplicate, repeat.sequence), (true, Some(1)));
    bed.clock.advance(Duration::from_millis(1));
    let again = append().await;
    assert_eq!((again.duplicate, again.sequence), (false, Some(2)));
}

#[tokio::test]
async fn what_is_too_old_is_let_go() {
    let bed = Bed::new().await;
    bed.emit("a").await;
    bed.clock.advance(Duration::from_secs(7 * 24 * 60 * 60));
    bed.emit("b").await;
    let admin = bed.control.administration().unwrap();
    let state = admin.inspect(StreamName::Events).await.unwrap().unwrap();
    assert_eq!((state.messages, state.last_sequence), (1, Some(2)));
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    assert_eq!(&next(&mut deliveries).await.message().payload()[..], b"b");
}

#[tokio::test]
async fn the_newest_replaces_the_older_of_its_subject_only() {
    let bed = Bed::new().await;
    let streams = bed.control.streams().unwrap();
    for (on, body) in [("n1", "old"), ("n2", "other"), ("n1", "new")] {
        let message = message(&format!("mesh.node.{on}.declare"), body);
        streams.append(message, Default::default()).await.unwrap();
    }
    let admin = bed.control.administration().unwrap();
    let last = Position::LastOf(subject("mesh.node.n1.declare"));
    let stored = admin.read(StreamName::Nodes, last).await.unwrap().unwrap();
    assert_eq!(stored.sequence, 3);
    let state = admin.inspect(StreamName::Nodes).await.unwrap().unwrap();
    assert_eq!(state.messages, 2);
}

#[tokio::test]
async fn a_plain_publish_never_replaces_a_declaration() {
    let bed = Bed::new().await;
    let publish = message("mesh.node.n1.declare", "{}");
    let transport = bed.control.transport();
    let refused = transport.publish(publish, Default::default()).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    let admin = bed.control.administration().unwrap();
    let state = admin.inspect(StreamName::Nodes).await.unwrap().unwrap();
    assert_eq!(state.messages, 0);
}

#[tokio::test]
async fn a_plain_publish_on_a_streams_subject_is_kept_without_its_reply_address() {
    let bed = Bed::new().await;
    let aimed = message("mesh.events.mail.sent", "a").with_reply(subject("mesh.tools.x.y"));
    let mut tool = bed
        .control
        .transport()
        .subscribe(filter("mesh.tools.x.y"), Default::default())
        .await
        .unwrap();
    let transport = bed.control.transport();
    transport.publish(aimed, Default::default()).await.unwrap();
    // The confirmation reaches any subject, as on a real server, and has no reply address itself.
    let confirmation = tool.next().await.unwrap().unwrap();
    assert_eq!(&confirmation.payload()[..], br#"{"stream":"EVENTS","seq":1}"#);
    assert_eq!(confirmation.reply(), None);
    let admin = bed.control.administration().unwrap();
    let stored = admin.read(StreamName::Events, Position::Sequence(1)).await;
    assert_eq!(stored.unwrap().unwrap().message.reply(), None);
}

#[tokio::test]
async fn nothing_is_lost_when_a_reader_is_dropped_at_any_point() {
    for dropped_after in 0..6 {
        let bed = Bed::new().await;
        let (one, two) = (bed.connect("audit"), bed.connect("audit"));
        let mut first = bed.read(&one, "n1_audit").await;
        let mut second = bed.read(&two, "n1_audit").await;
        // A reader that was woken and never looks keeps nothing from the other.
        assert!(poll(&mut Box::pin(first.next())).is_pending());
        let mut waiting = tokio::spawn(async move {
            let mut seen = Vec::new();
            while seen.len() < 6 {
                let delivery = next(&mut second).await;
                seen.push(delivery.info().sequence.unwrap());
                delivery.ack().await.unwrap();
            }
            seen
        });
        settle().await;
        for _ in 0..3 {
            bed.emit("a").await;
        }
        let mut held = Vec::new();
        for step in 0..6 {
            if step == dropped_after {
                break;
            }
            match arrived(&mut first).await {
                Some(delivery) => held.push(delivery.unwrap()),
                None => break,
            }
        }
        drop(first);
        for _ in 0..3 {
            bed.emit("a").await;
        }
        let mut seen = (&mut waiting).await.unwrap();
        drop(held);
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 3, 4, 5, 6], "dropped after {dropped_after}");
    }
}

#[tokio::test]
async fn readers_take_turns() {
    let bed = Bed::new().await;
    let (one, two) = (bed.connect("audit"), bed.connect("audit"));
    let mut tasks = Vec::new();
    for connection in [one, two] {
        let mut deliveries = bed.read(&connection, "n1_audit").await;
        tasks.push(tokio::spawn(async move {
            let mut count = 0;
            loop {
                match deliveries.next().await {
                    Some(Ok(delivery)) => {
                        count += 1;
                        delivery.ack().await.unwrap();
                    }
                    Some(Err(ReceiveError::Ended(_))) | None => return count,
                    Some(Err(other)) => panic!("{other}"),
                }
            }
        }));
    }
    settle().await;
    for _ in 0..100 {
        bed.emit("a").await;
    }
    while bed.owed("n1_audit").await > 0 {
        tokio::task::yield_now().await;
    }
    bed.broker.sever(&module("audit"));
    let mut counts = Vec::new();
    for task in tasks {
        counts.push(task.await.unwrap());
    }
    assert_eq!(counts.iter().sum::<u32>(), 100);
    assert!(counts.iter().all(|count| *count >= 25), "{counts:?}");
}

#[tokio::test]
async fn naks_with_short_delays_leave_no_timers_behind() {
    let bed = Bed::with(|topology| {
        let mut spec = topology.consumer(&events("n1_audit")).unwrap().clone();
        spec.rules.max_deliver = None;
        topology.with_consumer(spec)
    })
    .await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("held").await;
    bed.emit("tried").await;
    let _held = next(&mut deliveries).await;
    for attempt in 1..100 {
        let delivery = next(&mut deliveries).await;
        assert_eq!(delivery.info().attempt, attempt);
        let delay = Duration::from_millis(10);
        delivery.nak(Some(delay)).await.unwrap();
        bed.clock.advance(delay);
        settle().await;
        assert!(bed.broker.statistics().timers <= 2);
    }
}

#[tokio::test]
async fn a_work_queue_keeps_its_order_through_a_nak_with_delay() {
    let bed = Bed::new().await;
    let streams = bed.control.streams().unwrap();
    for body in ["1", "2", "3"] {
        let report = message("mesh.control.n1.report", body);
        streams.append(report, Default::default()).await.unwrap();
    }
    let consumer = ConsumerRef::new(StreamName::Control, ConsumerName::new("controller").unwrap());
    let mut deliveries = streams.consume(consumer, Default::default()).await.unwrap();
    let first = next(&mut deliveries).await;
    first.nak(Some(Duration::from_secs(5))).await.unwrap();
    assert!(arrived(&mut deliveries).await.is_none());
    bed.clock.advance(Duration::from_secs(5));
    for (body, attempt) in [("1", 2), ("2", 1), ("3", 1)] {
        let delivery = next(&mut deliveries).await;
        assert_eq!(&delivery.message().payload()[..], body.as_bytes());
        assert_eq!(delivery.info().attempt, attempt);
        delivery.ack().await.unwrap();
    }
    let admin = bed.control.administration().unwrap();
    let state = admin.inspect(StreamName::Control).await.unwrap().unwrap();
    assert_eq!((state.messages, state.bytes), (0, Some(0)));
}

#[tokio::test]
async fn what_matches_no_pattern_is_told_and_comes_again_elsewhere() {
    let bed = Bed::new().await;
    let (narrow, wide) = (bed.connect("audit"), bed.connect("audit"));
    let options =
        ConsumeOptions { patterns: vec![filter("mesh.events.mail.other")], ..Default::default() };
    let streams = narrow.streams().unwrap();
    let mut deliveries = streams.consume(events("n1_audit"), options).await.unwrap();
    bed.emit("a").await;
    let refused = deliveries.next().await.unwrap().unwrap_err();
    assert!(matches!(refused, ReceiveError::Refused { .. }));
    assert_eq!(bed.owed("n1_audit").await, 1);
    drop(deliveries);
    let mut deliveries = bed.read(&wide, "n1_audit").await;
    assert_eq!(next(&mut deliveries).await.info().attempt, 2);
}

/// A nats-server refuses a filter inside another, and takes two that only meet.
#[tokio::test]
async fn filters_that_meet_are_taken_and_what_is_in_both_comes_once() {
    let bed = Bed::with(|topology| {
        let meeting = ["mail.*", "*.sent"].map(filter);
        let audit = ModuleName::new("crm").unwrap();
        topology.with_module(&node(), &audit, &meeting).unwrap()
    });
    let bed = bed.await;
    let reader = bed.connect("crm");
    let mut deliveries = bed.read(&reader, "n1_crm").await;
    bed.emit("a").await;
    next(&mut deliveries).await.ack().await.unwrap();
    assert!(arrived(&mut deliveries).await.is_none());
}
