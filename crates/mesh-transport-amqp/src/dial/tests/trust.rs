//! Whom the password is told.

use mesh_core::port::ErrorKind;
use mesh_testkit::servers::{Certificate, Validity};

use super::peer::{Peer, Play};
use super::{impatient, refused, target};
use crate::AmqpOptions;

const USER: &str = "n1.mail:hunter2";

fn local() -> Certificate {
    Certificate::local().unwrap()
}

/// The first words of AMQP, which come after the handshake.
const HELLO: &[u8] = b"AMQP\x00\x00\x09\x01";

#[tokio::test]
async fn another_certificate_is_refused_before_the_log_in() {
    let shown = local();
    let mut peer = Peer::start(Play::Secured(shown.clone())).await;
    let pin = "07".repeat(32);
    let target = target(&peer.address, USER, &pin);
    let error = refused(&target, &AmqpOptions::default(), ErrorKind::Denied, false).await;
    let says = format!("the server's certificate is {}, pinned is {pin}", shown.fingerprint());
    assert!(error.contains(&says), "{error}");
    assert_eq!(peer.visit().await, b"");
}

#[tokio::test]
async fn a_replayed_certificate_is_refused_before_the_log_in() {
    let stolen = local().with_wrong_key().unwrap();
    let mut peer = Peer::start(Play::Secured(stolen.clone())).await;
    let target = target(&peer.address, USER, &stolen.fingerprint());
    let error = refused(&target, &AmqpOptions::default(), ErrorKind::Denied, false).await;
    assert!(error.contains("without holding its key"), "{error}");
    assert_eq!(peer.visit().await, b"");
}

#[tokio::test]
async fn the_pin_alone_is_the_trust() {
    let elsewhere = Certificate::new(&["elsewhere.example"], Validity::Current).unwrap();
    let over = Certificate::new(&["localhost"], Validity::Expired).unwrap();
    for shown in [elsewhere, over] {
        let mut peer = Peer::start(Play::Secured(shown.clone())).await;
        // As it is written by people: in capitals, with colons.
        let pin = shown.fingerprint().to_uppercase();
        let pairs: Vec<_> = (0..pin.len()).step_by(2).map(|at| &pin[at..at + 2]).collect();
        let target = target(&peer.address, USER, &pairs.join(":"));
        let error = refused(&target, &impatient(), ErrorKind::TimedOut, true).await;
        assert!(error.contains("proved itself"), "{error}");
        assert_eq!(peer.visit().await, HELLO, "only a broker's answer brings the log-in");
    }
}

#[tokio::test]
async fn an_impostor_without_tls_never_hears_the_password() {
    let pin = "07".repeat(32);
    let mut silent = Peer::start(Play::Plain).await;
    let error =
        refused(&target(&silent.address, USER, &pin), &impatient(), ErrorKind::TimedOut, true)
            .await;
    assert!(error.contains("nothing came from the broker"), "{error}");
    let mut amqp = Peer::start(Play::Words(HELLO)).await;
    let error =
        refused(&target(&amqp.address, USER, &pin), &impatient(), ErrorKind::Denied, false).await;
    assert!(error.contains("has no TLS; the log-in was not sent"), "{error}");
    for peer in [&mut silent, &mut amqp] {
        let heard = String::from_utf8_lossy(&peer.visit().await).into_owned();
        assert!(!heard.contains("hunter2"), "{heard}");
    }
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_left_in_time_and_wholly() {
    let shown = local();
    let mut peer = Peer::start(Play::Secured(shown.clone())).await;
    let target = target(&peer.address, USER, &shown.fingerprint());
    refused(&target, &impatient(), ErrorKind::TimedOut, true).await;
    // Its connection is over, or this would not return.
    assert_eq!(peer.visit().await, HELLO);
}

#[tokio::test]
async fn a_peer_that_speaks_no_amqp_is_named() {
    let shown = local();
    for words in [b"HTTP/1.1 400 Bad Request\r\n\r\n".as_slice(), b"AMQP\x03\x01\x00\x00"] {
        let peer = Peer::start(Play::Says(shown.clone(), words)).await;
        let target = target(&peer.address, USER, &shown.fingerprint());
        let error = refused(&target, &AmqpOptions::default(), ErrorKind::Invalid, false).await;
        assert!(error.contains("speaks no AMQP 0-9-1"), "{error}");
    }
}
