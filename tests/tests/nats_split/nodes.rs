//! Hosts, the builder, enrolment, and what they have to do with the controller's two users.

use mesh_core::identity::Responder;
use mesh_core::message::Headers;
use mesh_core::port::{AppendOptions, Connection, ErrorKind, ServeOptions};
use mesh_core::subject::Subject;
use mesh_core::topology::StreamName;
use mesh_testkit::fixtures::{consumer, filter, group, message};
use serde_json::{Value, json};

use crate::split::{Bed, PATIENCE};
use crate::{Reader, read, reading, soon};

async fn append(
    connection: &Connection,
    subject: &str,
    body: &str,
    expected: Option<u64>,
) -> Result<u64, ErrorKind> {
    let options = AppendOptions { expected_last: expected, ..AppendOptions::default() };
    let appended = connection.streams().unwrap().append(message(subject, body), options);
    let appended = soon(appended).await.map_err(|error| error.kind())?;
    Ok(appended.sequence.unwrap())
}

/// What the controller reads of its queue.
async fn control(bed: &Bed) -> Reader {
    let connection = bed.controller.clone();
    let deliveries = read(&connection, consumer(StreamName::Control, "controller")).await;
    Reader { deliveries, connection }
}

#[tokio::test]
async fn a_host_reads_the_newest_declaration_of_its_node() {
    let bed = Bed::split().await.unwrap();
    let (n1, n2) = ("mesh.node.n1.declare", "mesh.node.n2.declare");
    let first = append(&bed.controller, n1, "n1: old", Some(0)).await.unwrap();
    append(&bed.controller, n2, "n2", Some(0)).await.unwrap();
    let refused = append(&bed.controller, n1, "n1: stale", Some(0)).await;
    assert_eq!(refused, Err(ErrorKind::Conflict));
    append(&bed.controller, n1, "n1: new", Some(first)).await.unwrap();
    let mut host = reading(&bed, "host.n1", StreamName::Nodes, "n1").await;
    assert_eq!(host.body().await, "n1: new");
    append(&bed.controller, n1, "n1: newer", None).await.unwrap();
    assert_eq!(host.body().await, "n1: newer");
    let mut other = reading(&bed, "host.n2", StreamName::Nodes, "n2").await;
    assert_eq!(other.body().await, "n2");
    let read = host.connection.streams().unwrap();
    let theirs = read.consume(consumer(StreamName::Nodes, "n2"), Default::default());
    assert_eq!(soon(theirs).await.unwrap_err().kind(), ErrorKind::Denied);
}

#[tokio::test]
async fn a_host_reports_in_order_and_is_alive() {
    let bed = Bed::split().await.unwrap();
    let controller = bed.controller.transport();
    let subscribing = controller.subscribe(filter("mesh.control.*.alive"), Default::default());
    let mut alive = soon(subscribing).await.unwrap();
    let host = bed.connect("host.n1").await.unwrap();
    for report in ["1", "2", "3"] {
        append(&host, "mesh.control.n1.report", report, None).await.unwrap();
    }
    let sign =
        host.transport().publish(message("mesh.control.n1.alive", "yes"), Default::default());
    soon(sign).await.unwrap();
    let heard = soon(alive.next()).await.unwrap().unwrap();
    assert_eq!(heard.subject().as_str(), "mesh.control.n1.alive");
    let mut queue = control(&bed).await;
    for report in ["1", "2", "3"] {
        assert_eq!(queue.body().await, report);
    }
}

#[tokio::test]
async fn a_host_asks_the_controller_beside_the_streams() {
    let bed = Bed::split().await.unwrap();
    let host = bed.connect("host.n1").await.unwrap();
    let ask = || {
        let question = message("mesh.ask.n1.status", "how?");
        let requests = host.requests().unwrap();
        requests.request(Responder::Controller, question, PATIENCE)
    };
    // Nobody is there yet.
    assert_eq!(soon(ask()).await.unwrap_err().kind(), ErrorKind::NoResponders);
    let edge = bed.connect("controller-edge").await.unwrap();
    let options = ServeOptions { group: group("controller"), ..ServeOptions::default() };
    let serving = edge.requests().unwrap().serve(filter("mesh.ask.*.*"), options);
    let mut asks = soon(serving).await.unwrap();
    let answering = async {
        let call = soon(asks.next()).await.unwrap().unwrap();
        assert_eq!(call.message().subject().as_str(), "mesh.ask.n1.status");
        call.answer(Headers::default(), "well".into()).await.unwrap();
    };
    let (answer, ()) = tokio::join!(soon(ask()), answering);
    assert_eq!(answer.unwrap().payload(), "well");
    // As another node it can't.
    let other = message("mesh.ask.n2.status", "how?");
    let asked = host.requests().unwrap().request(Responder::Controller, other, PATIENCE);
    assert_eq!(soon(asked).await.unwrap_err().kind(), ErrorKind::Denied);
}

#[tokio::test]
async fn a_build_is_claimed_by_one_builder_and_its_outcome_reported() {
    let bed = Bed::split().await.unwrap();
    append(&bed.controller, "mesh.build.request", "build 1", None).await.unwrap();
    append(&bed.controller, "mesh.build.request", "build 2", None).await.unwrap();
    let mut builder = reading(&bed, "builder.n1", StreamName::Builds, "builder").await;
    let claim = builder.next().await;
    assert_eq!(claim.message().payload(), "build 1");
    claim.progress().await.unwrap();
    append(&builder.connection, "mesh.control.built", "built 1", None).await.unwrap();
    claim.ack().await.unwrap();
    assert_eq!(builder.body().await, "build 2");
    assert_eq!(control(&bed).await.body().await, "built 1");
    let order = append(&builder.connection, "mesh.build.request", "my own", None).await;
    assert_eq!(order, Err(ErrorKind::Denied));
}

#[tokio::test]
async fn a_node_enrols_and_hears_the_controllers_answer() {
    let bed = Bed::split().await.unwrap();
    let node = bed.connect("enrol.t1").await.unwrap();
    let answers = filter("_INBOX.enrol.t1.answer");
    let listening = node.transport().subscribe(answers, Default::default());
    let mut answers = soon(listening).await.unwrap();
    let enrolment = json!({ "reply": "_INBOX.enrol.t1.answer", "node": "n3" }).to_string();
    append(&node, "mesh.control.enrol", &enrolment, None).await.unwrap();

    let asked: Value = serde_json::from_str(&control(&bed).await.body().await).unwrap();
    let edge = bed.connect("controller-edge").await.unwrap();
    let reply = Subject::new(asked["reply"].as_str().unwrap()).unwrap();
    let answer = message(reply.as_str(), "sealed");
    soon(edge.transport().publish(answer, Default::default())).await.unwrap();
    assert_eq!(soon(answers.next()).await.unwrap().unwrap().payload(), "sealed");

    let other = message("_INBOX.enrol.t1.other", "sealed");
    let refused = edge.transport().publish(other, Default::default());
    assert_eq!(soon(refused).await.unwrap_err().kind(), ErrorKind::Denied);
}
