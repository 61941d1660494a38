//! What the suite can't try on the transport of the example: a broker that dies, one that talks nonsense, and
//! a client that reads nothing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

#[path = "../examples/custom_transport/broker.rs"]
mod broker;
#[path = "../examples/custom_transport/link.rs"]
mod link;
#[path = "../examples/custom_transport/transport.rs"]
mod transport;
#[path = "../examples/custom_transport/wire.rs"]
mod wire;

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use mesh_core::port::{
    Connection, ConnectionState, ErrorKind, PublishOptions, ReceiveError, SubscribeOptions,
};
use mesh_testkit::expect::{expect_message, expect_soon, expect_told};
use mesh_testkit::fixtures::{filter, message, module};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use broker::TinyBroker;
use wire::Head;

async fn dial(broker: SocketAddr, name: &str) -> Connection {
    transport::connect(broker, module("n1", name)).await.unwrap()
}

#[tokio::test]
async fn a_call_that_a_dying_broker_never_answers_is_disconnected() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mail = dial(listener.local_addr().unwrap(), "mail").await;
    let (mut broker, _) = listener.accept().await.unwrap();
    let dying = async {
        let mut first = [0; 4];
        broker.read_exact(&mut first).await.unwrap();
        drop(broker);
    };
    let sending = mail.transport().publish(message("test.a", ""), PublishOptions::default());
    let (sent, ()) = tokio::join!(expect_soon("the end of a call", sending), dying);
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::Disconnected);
    let late = mail.transport().flush(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!((late.kind(), late.may_retry()), (ErrorKind::Disconnected, false));
    let state = mail.transport().states().next().await;
    assert!(matches!(state, Some(ConnectionState::Disconnected(_))), "{state:?}");
}

/// What the suite tries of a transport that declares `ReceiverCheck`.
#[tokio::test]
async fn a_subscription_that_is_given_up_midway_leaves_nobody() {
    for polls in 1..9 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let mail = dial(listener.local_addr().unwrap(), "mail").await;
        let (mut broker, _) = listener.accept().await.unwrap();
        {
            let subscribing = mail.transport().subscribe(filter("test.a"), Default::default());
            let mut subscribing = pin!(subscribing);
            for poll in 0..polls {
                if poll > 0 {
                    tokio::task::yield_now().await;
                }
                assert!(subscribing.as_mut().now_or_never().is_none(), "nobody has answered");
            }
        }
        let mut there = HashSet::new();
        let answering = async {
            loop {
                match wire::read(&mut broker).await.unwrap().head {
                    Head::Subscribe { number, .. } => drop(there.insert(number)),
                    Head::Unsubscribe { number } => {
                        there.remove(&number);
                        continue;
                    }
                    _ => {}
                }
                wire::write(&mut broker, &Head::Done.into()).await.unwrap();
            }
        };
        tokio::select! {
            flushed = mail.transport().flush(Duration::from_secs(10)) => flushed.unwrap(),
            () = answering => {}
        }
        assert!(there.is_empty(), "after {polls} polls {there:?} stay");
    }
}

#[tokio::test]
async fn a_broker_that_talks_nonsense_is_left() {
    for nonsense in [&[0xff; 8][..], b"\0\0\0\x02{}\0\0\0\0", b"\0\0\0\x06\"Done\"\0\0\0\0"] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let mail = dial(listener.local_addr().unwrap(), "mail").await;
        let (mut broker, _) = listener.accept().await.unwrap();
        broker.write_all(nonsense).await.unwrap();
        let mut states = mail.transport().states();
        while let Some(state) = expect_soon("a state", states.next()).await {
            if let ConnectionState::Disconnected(why) = state {
                assert_eq!(why.kind(), ErrorKind::Disconnected);
                break;
            }
        }
        let mut rest = Vec::new();
        let _ = expect_soon("the end", broker.read_to_end(&mut rest)).await;
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_cut_off_and_the_others_hear_all() {
    const LARGE: usize = 256 * 1024;
    let broker = TinyBroker::start().await.unwrap();
    let mut stuck = TcpStream::connect(broker.address()).await.unwrap();
    let head = Head::Subscribe { number: 0, subject: "test.a".to_owned() };
    wire::write(&mut stuck, &head.into()).await.unwrap();
    assert!(matches!(wire::read(&mut stuck).await.unwrap().head, Head::Done));

    let (mail, shop) = (dial(broker.address(), "mail").await, dial(broker.address(), "shop").await);
    let hearing = mail.transport().subscribe(filter("test.a"), SubscribeOptions::default());
    let mut heard = hearing.await.unwrap();
    let body = "x".repeat(LARGE);
    // More than the broker and both ends of a socket keep for one client.
    for _ in 0..400 {
        let sending = shop.transport().publish(message("test.a", &body), PublishOptions::default());
        sending.await.unwrap();
        assert_eq!(expect_message(&mut heard).await.payload().len(), LARGE);
    }
    let cut = async { while wire::read(&mut stuck).await.is_ok() {} };
    expect_soon("the end of who read nothing", cut).await;

    drop(broker);
    let ended = expect_told(&mut heard).await;
    assert!(matches!(ended, ReceiveError::Ended(_)), "{ended:?}");
}
