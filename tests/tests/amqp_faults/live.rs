//! Subscriptions, calls and answers over a broker that is killed.

use std::time::Duration;

use bytes::Bytes;
use mesh_core::identity::Responder;
use mesh_core::message::{Headers, Message};
use mesh_core::port::{
    Calls, Connection, ErrorKind, ReceiveError, ServeOptions, SubscribeOptions, Subscription,
    TransportError,
};
use mesh_testkit::fixtures::{filter, group, message, module_name, tool};

use crate::bed::{self, LONG, States};

async fn come<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("not within a minute")
}

async fn subscribed(connection: &Connection, place: &str, shared: bool) -> Subscription {
    let group = shared.then(|| group("g"));
    let options = SubscribeOptions { group, ..SubscribeOptions::default() };
    come(connection.transport().subscribe(filter(place), options)).await.unwrap()
}

async fn ask(connection: &Connection, within: Duration) -> Result<Message, TransportError> {
    let question = Message::new(tool("mail", "send"), "?");
    let mail = Responder::Module(module_name("mail"));
    come(connection.requests().unwrap().request(mail, question, within)).await
}

async fn answer(calls: &mut Calls) {
    let call = come(calls.next()).await.unwrap().unwrap();
    call.answer(Headers::default(), Bytes::from_static(b"!")).await.unwrap();
}

/// The next that comes says that something may have been missed.
async fn interrupted<T: std::fmt::Debug>(arrivals: &mut mesh_core::port::Incoming<T>) {
    let word = come(arrivals.next()).await;
    assert!(matches!(word, Some(Err(ReceiveError::Interrupted))), "{word:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_heard_served_and_asked_goes_on_after_a_kill() {
    let server = bed::broker(&["mail", "crm"]).await;
    let (mail, crm) = (bed::dial(&server, "mail").await, bed::dial(&server, "crm").await);
    let both = [States::of(&mail), States::of(&crm)];
    let mut alone = subscribed(&mail, "test.*", false).await;
    let mut shared = subscribed(&mail, "test.a", true).await;
    let place = tool("mail", "send").into();
    let serving = mail.requests().unwrap().serve(place, ServeOptions::default());
    let mut calls = come(serving).await.unwrap();
    let (asked, ()) = tokio::join!(ask(&crm, LONG), answer(&mut calls));
    assert_eq!(asked.unwrap().payload(), "!");

    // One question is under way, and its handler holds it.
    let (asked, held) = tokio::join!(ask(&crm, LONG), async {
        let held = come(calls.next()).await.unwrap().unwrap();
        server.kill().unwrap();
        held
    });
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::Disconnected);
    server.start().await.unwrap();
    for states in both {
        states.mended().await;
    }

    interrupted(&mut alone).await;
    interrupted(&mut shared).await;
    interrupted(&mut calls).await;
    let said = message("test.a", "after");
    come(crm.transport().publish(said, Default::default())).await.unwrap();
    for subscription in [&mut alone, &mut shared] {
        assert_eq!(come(subscription.next()).await.unwrap().unwrap().payload(), "after");
    }
    let (asked, ()) = tokio::join!(ask(&crm, LONG), answer(&mut calls));
    assert_eq!(asked.unwrap().payload(), "!");
    // Where that answer was to go is nobody any more; it is confirmed and confuses no other.
    held.answer(Headers::default(), Bytes::from_static(b"late")).await.unwrap();
    let (asked, ()) = tokio::join!(ask(&crm, LONG), answer(&mut calls));
    assert_eq!(asked.unwrap().payload(), "!");
    assert_eq!(bed::figure(&mail, "places"), 3);
    for connection in [&mail, &crm] {
        assert_eq!(come(connection.transport().close(LONG)).await.lost, 0);
    }
}
