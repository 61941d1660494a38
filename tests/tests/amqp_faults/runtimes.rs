//! Calls from more than one runtime, and a broker that says nothing to any of them.

use std::time::Duration;

use mesh_core::identity::Responder;
use mesh_core::message::Message;
use mesh_core::port::{Calls, Connection, ErrorKind, ServeOptions, TransportError};
use mesh_core::subject::Subject;
use mesh_testkit::fixtures::{module_name, tool};
use mesh_testkit::servers::rabbit::RabbitServer;
use mesh_transport_amqp::{AmqpOptions, connect};

use crate::bed::{self, LONG};
use crate::closing::runtime;

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
    ask_at(connection, tool("mail", "send"), within).await
}

async fn ask_at(
    connection: &Connection,
    place: Subject,
    within: Duration,
) -> Result<Message, TransportError> {
    let question = Message::new(place, "?");
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
    let (crm, other) = (bed::dial(&server, "crm").await, runtime());
    let first = other.spawn({
        let crm = crm.clone();
        async move { ask(&crm, LONG).await }
    });
    let nobodys = come(calls.next()).await.unwrap().unwrap();
    let waiting = tokio::spawn({
        let crm = crm.clone();
        async move { ask(&crm, LONG).await }
    });
    let call = come(calls.next()).await.unwrap().unwrap();
    // Returns when all its tasks are gone.
    come(tokio::task::spawn_blocking(move || drop(other))).await.unwrap();
    assert!(come(first).await.unwrap_err().is_cancelled());
    drop(nobodys);
    call.answer(Default::default(), "!".into()).await.unwrap();
    assert_eq!(come(waiting).await.unwrap().unwrap().payload(), "!");
    asked_and_answered(&crm, &mut calls).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_keeps_its_time_beside_one_that_has_more() {
    let server = bed::broker(&["mail", "crm"]).await;
    let options = AmqpOptions { heartbeat: LONG, ..bed::quick() };
    let crm = connect(bed::target(&server, "crm"), options).await.unwrap();
    server.pause().unwrap();
    // The one looks first whether somebody reads its queue, and the other goes to that of the answers.
    for place in [tool("mail", "send"), Subject::new("mesh.ask.n1.status").unwrap()] {
        let patient = ask_at(&crm, place.clone(), LONG);
        let brief = async {
            let asked = ask_at(&crm, place.clone(), Duration::from_millis(300)).await;
            let error = asked.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{place}: {error}");
        };
        tokio::select! {
            biased;
            asked = patient => panic!("{asked:?}"),
            () = come(brief) => {}
        }
    }
    server.resume().unwrap();
}
