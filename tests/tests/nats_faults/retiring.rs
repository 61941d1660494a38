//! A server that retires (lame duck): its streams end at once, its connections only after a while.

use std::time::Duration;

use mesh_core::port::{Appended, Connection, TransportError};
use mesh_testkit::fixtures::{filter, message, module};
use mesh_testkit::servers::nats::NatsServer;

use crate::bed::{self, States};

/// Connections stand without streams for longer than it takes to notice that a consumer is gone.
const GRACE: &str = "lame_duck_duration: \"30s\"\nlame_duck_grace_period: \"6s\"";
const TIME: Duration = Duration::from_secs(60);

async fn append(from: Connection, id: &'static str) -> Result<Appended, TransportError> {
    from.streams().unwrap().append(bed::event(id), bed::appending(id, TIME)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_retires_ends_no_reader_and_fails_no_append() {
    let rules = bed::rules(Duration::from_millis(900));
    let server = NatsServer::launch(bed::config("").with(GRACE)).await.unwrap();
    bed::assert(server.address(), &bed::events(&[(bed::mail(), rules)]), 1).await;
    let reader = bed::dial(server.address(), module("n1", "mail")).await;
    let mut events = bed::consume(&reader, bed::mail(), bed::reading(rules, 10)).await;
    let publisher = bed::dial(server.address(), module("n1", "crm")).await;
    // To this one no stream has ever answered.
    let newcomer = bed::dial(server.address(), module("n1", "late")).await;
    let states = States::of(&reader);
    append(publisher.clone(), "before").await.unwrap();
    events.next().await.unwrap().unwrap().ack().await.unwrap();

    server.retire().unwrap();
    bed::until_async("the streams' end", async || {
        let jsz = server.jsz().await.unwrap();
        (jsz["streams"] == 0).then_some(())
    })
    .await;
    let late = [
        tokio::spawn(append(publisher.clone(), "known")),
        tokio::spawn(append(newcomer, "unknown")),
    ];
    // What is live goes on until the connections end.
    let heard = publisher.transport().subscribe(filter("mesh.tools.>"), <_>::default());
    let mut heard = heard.await.unwrap();
    let said = reader.transport().publish(message("mesh.tools.mail.open", ""), <_>::default());
    said.await.unwrap();
    heard.next().await.unwrap().unwrap();

    states.any("the loss", |state| !state.is_connected()).await;
    server.stop().await.unwrap();
    server.start().await.unwrap();
    for append in late {
        append.await.unwrap().unwrap();
    }
    let mut read = Vec::new();
    for _ in 0..2 {
        let next = tokio::time::timeout(TIME, events.next()).await.expect("an event");
        let delivery = next.expect("it goes on").expect("it goes on");
        read.push(bed::id_of(delivery.message()));
        delivery.ack().await.unwrap();
    }
    read.sort();
    assert_eq!(read, ["known", "unknown"]);
}
