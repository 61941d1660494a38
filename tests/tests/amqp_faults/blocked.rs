//! A broker that is out of memory takes no messages: publishers hear of it in their time, and nobody waits
//! for ever.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_core::name::ConsumerName;
use mesh_core::port::{ConsumeOptions, ErrorKind, PublishOptions, Streams};
use mesh_core::topology::{ConsumerRef, StreamName};
use mesh_testkit::fixtures::message;
use mesh_testkit::servers::rabbit::RabbitServer;

use crate::bed::{self, LONG, States};

async fn set_alarm(server: &RabbitServer, on: bool) {
    let bytes = if on { "1000" } else { "512000000" };
    server.control(&["set_vm_memory_high_watermark", "absolute", bytes]).await.unwrap();
}

const TIME: Duration = Duration::from_millis(500);

/// Appends until the error says that the broker takes nothing, which it says once something is published.
async fn word_of_the_alarm(streams: &Arc<dyn Streams>) -> String {
    let due = Instant::now() + Duration::from_secs(60);
    loop {
        let error = streams.append(bed::event("no"), bed::appending("no", TIME)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        if error.to_string().contains("takes no messages for now") {
            return error.to_string();
        }
        assert!(Instant::now() < due, "no word of the alarm: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_publisher_hears_why_in_its_time_and_goes_on_afterwards() {
    let server = bed::broker(&["mail"]).await;
    let mail = bed::dial(&server, "mail").await;
    let states = States::of(&mail);
    let streams = mail.streams().unwrap();
    streams.append(bed::event("before"), bed::appending("before", LONG)).await.unwrap();

    set_alarm(&server, true).await;
    let said = word_of_the_alarm(streams).await;
    assert!(said.contains("low on memory"), "{said}");
    let began = Instant::now();
    let options = PublishOptions { timeout: TIME, ..PublishOptions::default() };
    let publishing = mail.transport().publish(message("acme.orders", ""), options);
    assert_eq!(publishing.await.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(began.elapsed() < TIME + Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(!states.was_lost(), "reading goes on");

    let appending = streams.append(bed::event("after"), bed::appending("after", LONG));
    let clearing = set_alarm(&server, false);
    let (appended, ()) = tokio::join!(appending, clearing);
    appended.unwrap();
    let there = bed::taken(server.management()).await;
    let first = there.first().map(String::as_str);
    assert_eq!((first, there.last().map(String::as_str)), (Some("before"), Some("after")));
}

/// It needs a channel of its own, which a broker that reads nothing does not open: that is no reason to say less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_appends_after_another_was_blocked_hears_why_too() {
    let server = bed::broker(&["mail"]).await;
    let mail = bed::dial(&server, "mail").await;
    let streams = mail.streams().unwrap();
    set_alarm(&server, true).await;
    let first = streams.append(bed::event("x"), bed::appending("x", LONG));
    let next = async {
        bed::until_async("the broker blocks", async || {
            let told = bed::connections(server.management(), "mail").await;
            told.iter().any(|one| one["state"] == "blocked").then_some(())
        })
        .await;
        streams.append(bed::event("no"), bed::appending("no", TIME)).await.unwrap_err()
    };
    let error = tokio::select! {
        biased;
        first = first => panic!("nothing is taken: {first:?}"),
        error = next => error,
    };
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("takes no messages for now"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_connection_closes_in_its_time_and_names_what_was_lost() {
    let server = bed::broker(&["mail"]).await;
    let mail = bed::dial(&server, "mail").await;
    let streams = mail.streams().unwrap();
    set_alarm(&server, true).await;
    let under_way = {
        let mail = mail.clone();
        tokio::spawn(async move {
            let streams = mail.streams().unwrap();
            streams.append(bed::event("x"), bed::appending("x", LONG)).await
        })
    };
    word_of_the_alarm(streams).await;
    let began = Instant::now();
    let report = mail.transport().close(Duration::from_secs(2)).await;
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!((report.finished, report.lost), (0, 1), "{report:?}");
    let error = under_way.await.unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Closed | ErrorKind::Disconnected), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_is_settled_while_the_broker_takes_no_messages() {
    const EVENTS: u64 = 20;
    let server = bed::broker(&["mail"]).await;
    let mail = bed::dial(&server, "mail").await;
    let streams = mail.streams().unwrap();
    for event in 0..EVENTS {
        let id = event.to_string();
        streams.append(bed::event(&id), bed::appending(&id, LONG)).await.unwrap();
    }
    let consumer = ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_mail").unwrap());
    let options = ConsumeOptions { in_flight: 4.try_into().unwrap(), ..ConsumeOptions::default() };
    let mut deliveries = streams.consume(consumer, options).await.unwrap();
    let first = deliveries.next().await.unwrap().unwrap();
    set_alarm(&server, true).await;
    word_of_the_alarm(streams).await;
    first.ack().await.unwrap();
    // More than what had come before the alarm.
    for _ in 1..EVENTS {
        deliveries.next().await.unwrap().unwrap().ack().await.unwrap();
    }
    mail.transport().flush(LONG).await.unwrap();
    set_alarm(&server, false).await;
}
