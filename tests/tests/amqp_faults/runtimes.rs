//! Calls from more than one runtime, and a broker that says nothing to any of them.

use std::time::{Duration, Instant};

use mesh_core::identity::Responder;
use mesh_core::message::Message;
use mesh_core::port::Calls;
use mesh_core::port::{Connection, ErrorKind, ServeOptions, TransportError};
use mesh_testkit::fixtures::{module_name, tool};
use mesh_testkit::servers::rabbit::RabbitServer;
use mesh_transport_amqp::{AmqpOptions, connect};

use crate::bed::{self, LONG};
use crate::closing::{elsewhere, runtime};

/// Far less than what the calls were given, and far more than they need.
const BOUND: Duration = Duration::from_secs(30);

async fn come<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, future).await.expect("not in time")
}

async fn serve(server: &RabbitServer) -> (Connection, Calls) {
    let mail = bed::dial(server, "mail").await;
    let serving =
        mail.requests().unwrap().serve(tool("mail", "send").into(), ServeOptions::default());
    let calls = come(serving).await.unwrap();
    (mail, calls)
}

async fn ask(connection: &Connection, within: Duration) -> Result<Message, TransportError> {
    let question = Message::new(tool("mail", "send"), "?");
    let mail = Responder::Module(module_name("mail"));
    connection.requests().unwrap().request(mail, question, within).await
}

async fn asked_and_answered(connection: &Connection, calls: &mut Calls) {
    let answering = async {
        let call = calls.next().await.unwrap().unwrap();
        call.answer(Default::default(), "!".into()).await.unwrap();
    };
    let (answer, ()) = come(async { tokio::join!(ask(connection, LONG), answering) }).await;
    assert_eq!(answer.unwrap().payload(), "!");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_another_runtime_end_at_once_with_the_connections_own() {
    let server = bed::broker(&["mail", "crm"]).await;
    let (_mail, mut calls) = serve(&server).await;
    let (target, own) = (bed::target(&server, "crm"), runtime());
    let options = AmqpOptions { heartbeat: LONG, ..bed::quick() };
    let crm = own.spawn(connect(target, options)).await.unwrap().unwrap();
    let asking = tokio::spawn({
        let crm = crm.clone();
        async move { ask(&crm, LONG).await }
    });
    let held = come(calls.next()).await.unwrap().unwrap();
    server.pause().unwrap();
    let appending = tokio::spawn({
        let crm = crm.clone();
        async move { crm.streams().unwrap().append(bed::event("a"), bed::appending("a", LONG)).await }
    });
    own.shutdown_background();
    let asked = come(asking).await.unwrap().unwrap_err();
    assert_eq!(asked.kind(), ErrorKind::Closed, "{asked}");
    let appended = come(appending).await.unwrap().unwrap_err();
    assert_eq!(appended.kind(), ErrorKind::Closed, "{appended}");
    come(crm.transport().close(LONG)).await;
    server.resume().unwrap();
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_come_after_the_runtime_of_the_first_question_has_ended() {
    let server = bed::broker(&["mail", "crm"]).await;
    let (_mail, mut calls) = serve(&server).await;
    let crm = bed::dial(&server, "crm").await;
    let first = crm.clone();
    let asked = elsewhere(async move { ask(&first, Duration::from_millis(500)).await }).await;
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::TimedOut);
    drop(come(calls.next()).await);
    asked_and_answered(&crm, &mut calls).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_keeps_its_time_beside_one_that_has_more() {
    let server = bed::broker(&["mail", "crm"]).await;
    let options = AmqpOptions { heartbeat: LONG, ..bed::quick() };
    let crm = connect(bed::target(&server, "crm"), options).await.unwrap();
    server.pause().unwrap();
    let patient = ask(&crm, LONG);
    let brief = async {
        let began = Instant::now();
        let error = ask(&crm, Duration::from_millis(300)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        began.elapsed()
    };
    tokio::select! {
        biased;
        asked = patient => panic!("{asked:?}"),
        took = come(brief) => assert!(took < BOUND, "{took:?}"),
    }
    server.resume().unwrap();
}
