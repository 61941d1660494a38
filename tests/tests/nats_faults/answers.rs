//! Answers that are on their way when something else happens: the server dies, or the connection is closed.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use mesh_core::port::{Call, Calls, Connection, ErrorKind, ReceiveError, ServeOptions};
use mesh_testkit::fixtures::{filter, message, module, subject};
use mesh_testkit::servers::nats::NatsServer;
use mesh_transport_nats::connect;

use crate::bed::{self, States};

const TIME: Duration = Duration::from_secs(20);
const TOOL: &str = "mesh.tools.mail.send";

async fn come<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(2 * TIME, future).await.expect("not in time")
}

async fn serve(mail: &Connection) -> Calls {
    let serving = mail.requests().unwrap().serve(filter(TOOL), ServeOptions::default());
    come(serving).await.unwrap()
}

/// So many calls of `mail`, whose answers go to `branch`.
async fn called(server: &NatsServer, calls: &mut Calls, branch: &str, count: usize) -> Vec<Call> {
    let crm = bed::dial(server.address(), module("n1", "crm")).await;
    let asking = (0..count).map(|number| {
        let reply = subject(&format!("_INBOX.{branch}.n1.mail.{number:032x}"));
        crm.transport().publish(message(TOOL, "").with_reply(reply), <_>::default())
    });
    for asked in come(join_all(asking)).await {
        asked.unwrap();
    }
    come(calls.take(count).map(Result::unwrap).collect()).await
}

fn answer(call: Call) -> impl Future<Output = Result<(), mesh_core::port::TransportError>> {
    call.answer(<_>::default(), "".into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_in_flight_when_the_server_dies_all_end_and_leave_their_places() {
    const CALLS: usize = 900;
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let mail = bed::dial(server.address(), module("n1", "mail")).await;
    let states = States::of(&mail);
    let mut calls = serve(&mail).await;
    for _ in 0..2 {
        let held = called(&server, &mut calls, "crm", CALLS).await;
        let before = states.count();
        server.pause().unwrap();
        let answering: Vec<_> = held.into_iter().map(|call| tokio::spawn(answer(call))).collect();
        bed::until("as many answers as have places", || {
            (bed::figure(&mail, "unproven") >= 100).then_some(())
        })
        .await;
        server.kill().unwrap();
        server.start().await.unwrap();
        states.mended_since(before).await;
        for answered in come(join_all(answering)).await {
            if let Err(error) = answered.unwrap() {
                let kind = error.kind();
                assert!(matches!(kind, ErrorKind::Disconnected | ErrorKind::TimedOut), "{error}");
            }
        }
        come(mail.transport().flush(TIME)).await.unwrap();
        assert_eq!(bed::figure(&mail, "unproven"), 0);
        assert!(matches!(come(calls.next()).await, Some(Err(ReceiveError::Interrupted))));
    }
    for call in called(&server, &mut calls, "crm", 200).await {
        come(answer(call)).await.unwrap();
    }
    let report = come(mail.transport().close(TIME)).await;
    assert_eq!(report.lost, 0, "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_denied_while_close_runs_are_told_and_neither_finished_nor_lost() {
    const CALLS: usize = 300;
    let rights = format!(
        "{{ user: poor, password: \"{}\", permissions: {{ \
         publish: {{ allow: [ \"_INBOX.mail.n1.echo.>\", \"_INBOX.good.>\" ] }}, \
         subscribe: {{ allow: [ \"_INBOX.mail.n1.>\", \"{TOOL}\" ] }} }} }}",
        bed::PASSWORD
    );
    let server = NatsServer::launch(bed::config(&rights)).await.unwrap();
    let target = bed::target(server.address(), module("n1", "mail"), "poor");
    let mail = connect(target, bed::quick()).await.unwrap();
    let mut calls = serve(&mail).await;
    let mut held = called(&server, &mut calls, "bad", CALLS).await;
    held.extend(called(&server, &mut calls, "good", CALLS).await);
    // None of them is known when the close begins.
    server.pause().unwrap();
    let answering: Vec<_> = held.into_iter().map(|call| tokio::spawn(answer(call))).collect();
    bed::until("as many answers as have places", || {
        (bed::figure(&mail, "unproven") >= 100).then_some(())
    })
    .await;
    let closing = tokio::spawn({
        let mail = mail.clone();
        async move { mail.transport().close(TIME).await }
    });
    server.resume().unwrap();
    let report = come(closing).await.unwrap();
    let mut failed = 0;
    for answered in come(join_all(answering)).await {
        failed += usize::from(answered.unwrap().is_err());
    }
    let mut told = 0;
    while let Some(word) = come(calls.next()).await {
        match word {
            Err(ReceiveError::AnswerLost { .. }) => told += 1,
            Err(ReceiveError::Lagged { lost }) => told += lost,
            other => panic!("{other:?}"),
        }
    }
    println!("{report:?}, {failed} failed, {told} told");
    assert_eq!(told, bed::figure(&mail, "refused_answers"));
    let all = report.finished + told + failed as u64;
    assert_eq!(all, 2 * CALLS as u64, "{report:?}, {failed}, {told}");
    // One that had no place yet when the close came may have failed: its own call has told so.
    assert!(report.lost <= failed as u64, "{report:?}, {failed}, {told}");
}
