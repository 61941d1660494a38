use mesh_core::mx::MsgType;
use mesh_core::port::ErrorKind;

use super::super::*;
use super::support::*;

const OVER: &str = "mx/in/1/shop/00 mxenv1 MX.EDGE.RATE_LIMITED";

#[test]
fn a_realm_has_a_bounded_number_of_pending_requests_and_may_come_again() {
    let mut config = config();
    config.limits.pending_per_realm = 2;
    let edge = edge(config);
    let [one, two, three] = ["1", "2", "3"].map(cmd);
    let first = ask(&edge, &one, MX, 0);
    let _second = ask(&edge, &two, MX, 0);
    assert_eq!(receive(&edge, &three, MX, 0), OVER);
    // Others are not concerned.
    let other = br#"{"fromRealm":"other","toPath":"a.accepts.b","correlationId":"c"}"#;
    assert!(receive(&edge, other, LEGACY, 0).starts_with("ask"));
    // Its place is free once its answer has been sent, and the same message passes.
    let answer = edge.reply(first.id, b"1", at(1)).answer().unwrap();
    assert_eq!(receive(&edge, &three, MX, 1), OVER);
    drop(answer);
    assert!(receive(&edge, &three, MX, 1).starts_with("ask"));
    assert_eq!(edge.counters().overloaded, 2);
}

#[test]
fn all_realms_together_have_a_bounded_number() {
    let mut config = config();
    config.limits.pending = 2;
    let edge = edge(config);
    for realm in ["a", "b"] {
        let bytes =
            format!(r#"{{"fromRealm":"{realm}","toPath":"a.accepts.b","correlationId":"c"}}"#);
        assert!(receive(&edge, bytes.as_bytes(), LEGACY, 0).starts_with("ask"));
    }
    assert_eq!(receive(&edge, &cmd("1"), MX, 0), OVER);
    assert_eq!(edge.under_way(), (2, 2));
}

#[test]
fn what_nobody_serves_is_refused_at_once_and_may_come_again() {
    let edge = edge(config());
    let bytes = cmd("1");
    let asked = ask(&edge, &bytes, MX, 0);
    let unsent = edge.unsent(asked, ErrorKind::NoResponders, at(1));
    let answer = unsent.answer.unwrap();
    assert_eq!(told(&answer), "mx/in/1/shop/00 mxenv1 MX.EDGE.HANDLER_ERROR");
    assert!(String::from_utf8_lossy(answer.bytes()).contains("nobody serves this path"));
    assert!(unsent.release.unwrap().is_empty());
    drop(answer);
    assert!(receive(&edge, &bytes, MX, 2).starts_with("ask"), "its mark was released");
    assert_eq!((edge.counters().nobody, edge.pending()), (1, 1));
}

#[test]
fn a_request_too_large_for_the_realms_bus_is_a_bad_request() {
    let edge = edge(config());
    let bytes = cmd("1");
    let asked = ask(&edge, &bytes, MX, 0);
    let unsent = edge.unsent(asked, ErrorKind::TooLarge, at(1));
    assert_eq!(read(unsent.answer.unwrap().bytes()).1, "MX.EDGE.BAD_REQUEST");
}

#[test]
fn a_request_that_may_have_been_published_is_waited_for_and_keeps_its_mark() {
    let edge = edge(config());
    let bytes = cmd("1");
    for kind in [ErrorKind::TimedOut, ErrorKind::Disconnected] {
        let asked = match edge.receive(&bytes, MX, at(0)) {
            Reaction::Ask(ask) => ask,
            other => {
                assert_eq!(short(other), "drop by replay: seen before");
                continue;
            }
        };
        let id = asked.id;
        let unsent = edge.unsent(asked, kind, at(1));
        assert!(unsent.answer.is_none() && unsent.release.is_none());
        assert!(edge.reply(id, b"1", at(2)).answer().is_some(), "a reply still counts");
    }
    assert_eq!(receive(&edge, &bytes, MX, 3), "drop by replay: seen before");
}

#[test]
fn a_request_that_was_answered_meanwhile_is_not_refused_as_well() {
    let edge = edge(config());
    let bytes = cmd("1");
    let asked = ask(&edge, &bytes, MX, 0);
    assert!(edge.reply(asked.id, b"1", at(1)).answer().is_some());
    let unsent = edge.unsent(asked, ErrorKind::NoResponders, at(2));
    assert!(unsent.answer.is_none() && unsent.release.is_none());
    assert_eq!(receive(&edge, &bytes, MX, 3), "drop by replay: seen before");
}

#[test]
fn an_event_that_was_not_published_may_come_again() {
    let edge = edge(config());
    let bytes = event("e", "1");
    for (kind, expected) in [(ErrorKind::Denied, "tell"), (ErrorKind::TimedOut, "drop by replay")] {
        let Reaction::Tell(tell) = edge.receive(&bytes, MX, at(0)) else { panic!() };
        let _ = edge.untold(tell, kind);
        let again = edge.receive(&bytes, MX, at(0));
        match again {
            Reaction::Tell(tell) => {
                assert_eq!(expected, "tell");
                let _ = edge.untold(tell, ErrorKind::Denied);
            }
            other => assert!(short(other).starts_with(expected)),
        }
    }
    assert_eq!(edge.counters().untold, 3);
}

#[test]
fn ids_that_would_be_held_are_bounded() {
    let edge = edge(config());
    for kind in [MsgType::Cmd, MsgType::Sub] {
        let mut long = request(kind, "stock.accepts.count", "1");
        long.correlation_id = Some("c".repeat(513).into());
        let bytes = long.encode().unwrap();
        assert_eq!(receive(&edge, &bytes, MX, 0), "drop by route: an id is too long");
        let mut long = request(kind, "_closed.accepts.count", "2");
        long.trace_id = Some("c".repeat(513).into());
        let bytes = long.encode().unwrap();
        assert!(receive(&edge, &bytes, MX, 0).starts_with("drop by closed"), "not even refused");
    }
}

#[test]
fn a_gateway_that_goes_takes_its_pending_requests_with_it() {
    let edge = edge(config());
    let bytes = cmd("1");
    let asked = ask(&edge, &bytes, MX, 0);
    let mut ended = edge.pending.listened(asked.id).unwrap();
    drop((asked, edge));
    let gone = tokio::sync::oneshot::error::TryRecvError::Closed;
    assert_eq!(ended.try_recv(), Err(gone));
}
