use mesh_core::port::{Administration as _, DriftMode, ErrorKind, Position};
use mesh_core::time::Timestamp;
use mesh_core::topology::StreamName;
use serde_json::json;

use super::server::Server;
use super::{only, subject, topology};

const SOLD: &str = "mesh.events.shop.sold";

#[tokio::test]
async fn a_message_is_read_as_it_was_appended() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    let every_byte: Vec<u8> = (0..=255).collect();
    let large = vec![b'x'; 970_000];
    let headers = [("X-One", "1"), ("a", "k=v, \"é\"; %20"), ("empty", ""), ("Nats-Msg-Id", "7")];
    for (sequence, headers, body) in [
        (1, &headers[..], every_byte),
        (2, &headers[..3], vec![]),
        (3, &[], vec![]),
        (4, &[], large),
    ] {
        let appended = hand.append(SOLD, headers, body.clone()).await.unwrap();
        assert_eq!(appended.seq, sequence);
        let read =
            admin.read(StreamName::Events, Position::Sequence(sequence)).await.unwrap().unwrap();
        assert_eq!(read.sequence, sequence);
        assert!(read.time > Timestamp::from_millis(1_700_000_000_000), "{:?}", read.time);
        assert_eq!(read.message.subject().as_str(), SOLD);
        assert!(*read.message.payload() == body, "another body");
        let mut found: Vec<_> = read.message.headers().iter().collect();
        let mut sent = headers.to_vec();
        sent.retain(|(name, _)| !name.starts_with("Nats-"));
        // A plain client keeps no order.
        found.sort_unstable();
        sent.sort_unstable();
        assert_eq!(found, sent);
        let last = admin.read(StreamName::Events, Position::LastOf(subject(SOLD))).await.unwrap();
        assert_eq!(last, Some(read));
    }
}

#[tokio::test]
async fn what_is_not_there_is_none_and_an_absent_stream_is_not_found() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    let absent = admin.read(StreamName::Events, Position::Sequence(1)).await.unwrap_err();
    assert_eq!((absent.kind(), absent.subject()), (ErrorKind::NotFound, Some("EVENTS")));
    let absent = admin.read(StreamName::Events, Position::Sequence(0)).await.unwrap_err();
    assert_eq!(absent.kind(), ErrorKind::NotFound);
    admin.assert(&topology(), DriftMode::Mend).await.unwrap();
    hand.append_all(SOLD, &["1"]).await;
    for position in [
        Position::Sequence(0),
        Position::Sequence(2),
        Position::Sequence(u64::MAX),
        Position::LastOf(subject("mesh.events.shop.closed")),
    ] {
        let found = admin.read(StreamName::Events, position.clone()).await.unwrap();
        assert!(found.is_none(), "{position:?}");
    }
    hand.done("STREAM.MSG.DELETE.EVENTS", json!({ "seq": 1 })).await;
    assert_eq!(admin.read(StreamName::Events, Position::Sequence(1)).await.unwrap(), None);
}

#[tokio::test]
async fn a_header_that_no_message_can_have_keeps_nothing_from_being_read() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    hand.append(SOLD, &[("a", "b\u{7}c"), ("d", "e")], "1").await.unwrap();
    let read = admin.read(StreamName::Events, Position::Sequence(1)).await.unwrap().unwrap();
    assert_eq!(read.message.headers().iter().collect::<Vec<_>>(), [("d", "e")]);
    assert_eq!(&read.message.payload()[..], b"1");
}

#[tokio::test]
async fn a_message_whose_subject_the_mesh_can_not_hold_is_an_error_that_names_it() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    hand.append(&format!("mesh.events.shop.{}", "x".repeat(300)), &[], "1").await.unwrap();
    let error = admin.read(StreamName::Events, Position::Sequence(1)).await.unwrap_err();
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Broker, false));
    let text = error.to_string();
    assert!(text.contains("message 1") && text.contains("255"), "{text}");
}
