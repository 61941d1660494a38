//! Refusals (A3): each reaches the call that caused it, however many there are.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt};
use mesh_core::identity::Responder;
use mesh_core::port::{Connection, ErrorKind, PublishOptions, ReceiveError, TransportError};
use mesh_testkit::fixtures::{filter, message, module, module_name};
use mesh_testkit::servers::nats::NatsServer;
use mesh_transport_nats::connect;

use crate::bed::{self, States};

const CALLS: usize = 2000;
const AT_A_TIME: usize = 64;
const TIME: Duration = Duration::from_secs(20);

/// A user of module `mail` on `n1` who may do this beside what every module may.
fn poor(publish: &str, subscribe: &str) -> String {
    format!(
        "{{ user: poor, password: \"{}\", permissions: {{ \
         publish: {{ allow: [ \"_INBOX.mail.n1.echo.>\", {publish} ] }}, \
         subscribe: {{ allow: [ \"_INBOX.mail.n1.>\", {subscribe} ] }} }} }}",
        bed::PASSWORD
    )
}

async fn dial_poor(server: &NatsServer) -> Connection {
    let target = bed::target(server.address(), module("n1", "mail"), "poor");
    connect(target, bed::quick()).await.unwrap()
}

async fn scene() -> (NatsServer, Connection) {
    let rights = poor("\"mesh.tools.good.>\", \"mesh.events.good.>\"", "\"mesh.tools.good.>\"");
    let server = NatsServer::launch(bed::config(&rights)).await.unwrap();
    bed::assert(server.address(), &bed::events(&[]), 1).await;
    let connection = dial_poor(&server).await;
    (server, connection)
}

/// Makes many calls, every other one of which is denied; `call` is given a subject's last two parts.
async fn mixed<F>(what: &str, call: impl Fn(String) -> F)
where
    F: Future<Output = Result<(), TransportError>>,
{
    let began = Instant::now();
    let calls = futures_util::stream::iter(0..CALLS).map(|number| {
        let whose = if number % 2 == 0 { "good" } else { "bad" };
        let subject = format!("{whose}.t{number}");
        let calling = call(subject.clone());
        async move { (subject, calling.await) }
    });
    let done: Vec<_> = calls.buffer_unordered(AT_A_TIME).collect().await;
    for (subject, result) in &done {
        match result {
            Ok(()) => assert!(subject.starts_with("good"), "{subject} was denied and says nothing"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Denied, "{subject}: {error}");
                assert!(error.subject().unwrap().ends_with(subject), "{subject}: {error}");
            }
        }
    }
    let denied = done.iter().filter(|(_, result)| result.is_err()).count();
    let took = began.elapsed();
    println!("{what}: {CALLS}, {AT_A_TIME} at a time: {denied} denied, all told in {took:.1?}");
    assert_eq!(denied, CALLS / 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_publishes_each_denied_one_is_told() {
    let (_server, connection) = scene().await;
    mixed("publishes", |subject| {
        let options = PublishOptions { timeout: TIME, ..<_>::default() };
        connection.transport().publish(message(&format!("mesh.tools.{subject}"), ""), options)
    })
    .await;
    assert_eq!(bed::figure(&connection, "unattributed"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_requests_each_denied_one_is_told() {
    let (server, connection) = scene().await;
    let good = bed::dial(server.address(), module("n1", "good")).await;
    let serving = good.requests().unwrap().serve(filter("mesh.tools.good.>"), <_>::default());
    let mut calls = serving.await.unwrap();
    tokio::spawn(async move {
        while let Some(Ok(call)) = calls.next().await {
            tokio::spawn(call.answer(<_>::default(), "".into()));
        }
    });
    mixed("requests", |subject| {
        let (whose, _) = subject.split_once('.').unwrap();
        let responder = Responder::Module(module_name(whose));
        let asked = message(&format!("mesh.tools.{subject}"), "");
        let asking = connection.requests().unwrap().request(responder, asked, TIME);
        async move { asking.await.map(drop) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_answers_each_denied_one_is_told() {
    let rights = poor("\"_INBOX.good.n1.mail.>\"", "\"mesh.tools.mail.send\"");
    let server = NatsServer::launch(bed::config(&rights)).await.unwrap();
    let mail = dial_poor(&server).await;
    let serving = mail.requests().unwrap().serve(filter("mesh.tools.mail.send"), <_>::default());
    let mut calls = serving.await.unwrap();
    let crm = bed::dial(server.address(), module("n1", "crm")).await;
    let address = |number: usize| {
        let whose = if number.is_multiple_of(2) { "good" } else { "bad" };
        format!("_INBOX.{whose}.n1.mail.{number:032x}")
    };
    let mut heard = {
        let answers = filter("_INBOX.good.n1.mail.*");
        let options = mesh_core::port::SubscribeOptions::default();
        crm.transport().subscribe(answers, options).await.unwrap()
    };
    let began = Instant::now();
    let asking = futures_util::stream::iter(0..CALLS).for_each_concurrent(AT_A_TIME, |number| {
        let reply = mesh_testkit::fixtures::subject(&address(number));
        let asked = message("mesh.tools.mail.send", "").with_reply(reply);
        let sending = crm.transport().publish(asked, <_>::default());
        async move { sending.await.unwrap() }
    });
    let answering = async {
        let (mut answered, mut told) = (0, std::collections::BTreeSet::new());
        while answered < CALLS {
            match calls.next().await.unwrap() {
                Ok(call) => {
                    call.answer(<_>::default(), "".into()).await.unwrap();
                    answered += 1;
                }
                Err(ReceiveError::AnswerLost { subject, error }) => {
                    assert_eq!(subject.as_str(), "mesh.tools.mail.send");
                    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
                    assert!(told.insert(error.subject().unwrap().to_owned()), "{error}, twice");
                }
                Err(other) => panic!("{other}"),
            }
        }
        mail.transport().flush(TIME).await.unwrap();
        // After the flush they are all there.
        while let Some(word) = calls.next().now_or_never() {
            match word {
                Some(Err(ReceiveError::AnswerLost { error, .. })) => {
                    assert!(told.insert(error.subject().unwrap().to_owned()), "{error}, twice");
                }
                other => panic!("{other:?}"),
            }
        }
        told
    };
    let ((), told) = tokio::join!(asking, answering);
    let denied: std::collections::BTreeSet<_> = (1..CALLS).step_by(2).map(address).collect();
    assert!(told == denied, "{} of {} were told", told.len(), denied.len());
    for _ in 0..CALLS / 2 {
        heard.next().await.unwrap().unwrap();
    }
    assert_eq!(bed::figure(&mail, "refused_answers"), CALLS as u64 / 2);
    assert_eq!(bed::figure(&mail, "unattributed"), 0);
    assert_eq!(bed::figure(&mail, "unproven"), 0);
    println!("answers: {CALLS}, half of them denied, all told in {:.1?}", began.elapsed());
}

#[tokio::test]
async fn answers_are_proven_after_a_while_without_a_flush() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let mail = bed::dial(server.address(), module("n1", "mail")).await;
    let serving = mail.requests().unwrap().serve(filter("mesh.tools.mail.send"), <_>::default());
    let mut calls = serving.await.unwrap();
    let crm = bed::dial(server.address(), module("n1", "crm")).await;
    for _ in 0..3 {
        let responder = Responder::Module(module_name("mail"));
        let asked = message("mesh.tools.mail.send", "");
        let asking = crm.requests().unwrap().request(responder, asked, TIME);
        let answering = async {
            let call = calls.next().await.unwrap().unwrap();
            call.answer(<_>::default(), "".into()).await.unwrap();
        };
        let (asked, ()) = tokio::join!(asking, answering);
        asked.unwrap();
    }
    bed::until("proof of what was answered", || {
        (bed::figure(&mail, "unproven") == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_appends_each_denied_one_is_told() {
    let (server, connection) = scene().await;
    mixed("appends", |subject| {
        let options = bed::appending(&subject, TIME);
        let event = message(&format!("mesh.events.{subject}"), "");
        let appending = connection.streams().unwrap().append(event, options);
        async move { appending.await.map(drop) }
    })
    .await;
    assert_eq!(bed::stored(server.address()).await, CALLS as u64 / 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_subscribes_each_denied_one_is_told() {
    let (_server, connection) = scene().await;
    mixed("subscribes", |subject| {
        let options = mesh_core::port::SubscribeOptions { timeout: TIME, ..<_>::default() };
        let filter = filter(&format!("mesh.tools.{subject}"));
        let subscribing = connection.transport().subscribe(filter, options);
        async move { subscribing.await.map(drop) }
    })
    .await;
}

#[tokio::test]
async fn denied_nobody_there_and_no_answer_are_three_errors_each_in_time() {
    let (server, connection) = scene().await;
    let slow = bed::dial(server.address(), module("n1", "good")).await;
    let serving = slow.requests().unwrap().serve(filter("mesh.tools.good.slow"), <_>::default());
    let _calls = serving.await.unwrap();
    let wait = Duration::from_millis(800);
    for (subject, kind, at_once) in [
        ("mesh.tools.bad.open", ErrorKind::Denied, true),
        ("mesh.tools.good.nobody", ErrorKind::NoResponders, true),
        ("mesh.tools.good.slow", ErrorKind::TimedOut, false),
    ] {
        let began = Instant::now();
        let responder = Responder::Module(module_name("good"));
        let requests = connection.requests().unwrap();
        let error = requests.request(responder, message(subject, ""), wait).await.unwrap_err();
        let took = began.elapsed();
        println!("{subject}: {error} after {took:.1?}");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(at_once || took >= wait);
        assert!(took < wait + Duration::from_secs(5));
    }
}

#[tokio::test]
async fn refusals_that_the_client_drops_do_not_stop_what_comes_later() {
    let acks = "\"$JS.ACK.EVENTS.n1_mail.>\", ";
    let (rest, deliver) = ("\"mesh.tools.good.>\"", "\"mesh.deliver.EVENTS.n1_mail n1_mail\"");
    let before = bed::config(&poor(&format!("{acks}{rest}"), deliver));
    let server = NatsServer::launch(before).await.unwrap();
    let rules = bed::rules(Duration::from_secs(60));
    bed::assert(server.address(), &bed::events(&[(bed::mail(), rules)]), 1).await;
    let connection = dial_poor(&server).await;
    let mut deliveries = bed::consume(&connection, bed::mail(), bed::reading(rules, 1000)).await;
    let crm = bed::dial(server.address(), module("n1", "crm")).await;
    let streams = crm.streams().unwrap();
    join_all((0..500).map(|number| {
        let id = format!("event-{number}");
        let options = bed::appending(&id, TIME);
        async move { streams.append(bed::event(&id), options).await.unwrap() }
    }))
    .await;
    let mut held = Vec::new();
    while held.len() < 500 {
        held.push(deliveries.next().await.unwrap().unwrap());
    }
    server.reload(bed::config(&poor(rest, deliver))).await.unwrap();
    // Each is refused, in one go: many more than the client has room for.
    for delivery in held {
        delivery.ack().await.unwrap();
    }
    let began = Instant::now();
    let mut tries = 0;
    loop {
        tries += 1;
        let options = PublishOptions { timeout: TIME, ..<_>::default() };
        let sent = connection.transport().publish(message("mesh.tools.good.open", ""), options);
        match sent.await {
            Ok(()) => break,
            // The answer to its probe was dropped too, so the session was given up.
            Err(error) => assert!(error.may_retry() && tries < 3, "{error}"),
        }
    }
    let heard = bed::figure(&connection, "unattributed");
    let took = began.elapsed();
    println!(
        "500 acknowledgements were refused, {heard} of which were heard of; then a publish worked after {took:.1?} and {tries} tries"
    );
    assert!(took < TIME);
}

#[tokio::test]
async fn appends_whose_right_is_withdrawn_under_them_are_all_told() {
    let (server, connection) = scene().await;
    let streams = connection.streams().unwrap();
    let append = |number: u32| {
        let options = bed::appending(&format!("event-{number}"), TIME);
        streams.append(message("mesh.events.good.open", ""), options)
    };
    append(0).await.unwrap();
    server
        .reload(bed::config(&poor("\"mesh.tools.good.>\"", "\"mesh.tools.good.>\"")))
        .await
        .unwrap();
    // The subject is known to be allowed, so no probe bounds how many go out.
    let began = Instant::now();
    for result in join_all((1..=1000).map(append)).await {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Denied);
    }
    println!("1000 appends on a subject that was allowed: all denied in {:.1?}", began.elapsed());
}

#[tokio::test]
async fn who_may_not_hear_answers_publishes_all_the_same() {
    let deaf = format!(
        "{{ user: deaf, password: \"{}\", permissions: {{ publish: {{ allow: \"mesh.tools.good.>\" }}, \
         subscribe: {{ allow: \"mesh.tools.good.>\" }} }} }}",
        bed::PASSWORD
    );
    let server = NatsServer::launch(bed::config(&deaf)).await.unwrap();
    let target = bed::target(server.address(), module("n1", "mail"), "deaf");
    let connection = connect(target, bed::quick()).await.unwrap();
    let transport = connection.transport();
    let mut heard = transport.subscribe(filter("mesh.tools.good.>"), <_>::default()).await.unwrap();
    for number in 0..200 {
        let good = message("mesh.tools.good.open", &number.to_string());
        transport.publish(good, <_>::default()).await.unwrap();
        let bad = message("mesh.tools.bad.open", "");
        let error = transport.publish(bad, <_>::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        let next = heard.next().await.unwrap().unwrap();
        assert_eq!(next.payload().as_ref(), number.to_string().as_bytes());
    }
    let good = Responder::Module(module_name("good"));
    let requests = connection.requests().unwrap();
    let asking = requests.request(good, message("mesh.tools.good.open", ""), TIME);
    assert_eq!(asking.await.unwrap_err().kind(), ErrorKind::Denied);
}

#[tokio::test]
async fn a_subscription_above_the_servers_limit_fails_and_all_others_go_on() {
    let server = NatsServer::launch(bed::config("").with("max_subscriptions: 3")).await.unwrap();
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let states = States::of(&connection);
    let transport = connection.transport();
    let subscribe = || transport.subscribe(filter("mesh.tools.good.>"), <_>::default());
    let publish = || {
        let options = PublishOptions { timeout: TIME, ..<_>::default() };
        transport.publish(message("mesh.tools.good.open", ""), options)
    };
    // The inbox is the first of the three.
    let (mut one, mut other) = (subscribe().await.unwrap(), subscribe().await.unwrap());
    for _ in 0..20 {
        let error = subscribe().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Broker, "{error}");
        publish().await.unwrap();
        assert!(one.next().await.unwrap().is_ok() && other.next().await.unwrap().is_ok());
    }
    let results = join_all((0..20).map(|_| subscribe())).await;
    assert!(results.iter().all(Result::is_err), "{results:?}");
    server.restart().await.unwrap();
    states.mended().await;
    publish().await.unwrap();
    for heard in [&mut one, &mut other] {
        assert!(matches!(heard.next().await, Some(Err(ReceiveError::Interrupted))));
        assert!(heard.next().await.unwrap().is_ok());
    }
    // There is room again.
    drop(one);
    transport.flush(TIME).await.unwrap();
    subscribe().await.unwrap();
}
