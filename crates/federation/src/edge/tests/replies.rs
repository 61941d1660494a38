use super::super::*;
use super::support::*;

#[test]
fn replies_are_read_strictly_or_leniently() {
    let edge = edge(config());
    let all: [(&[u8], &str); 9] = [
        (br#"{"ok":true,"body":{"a":1.0}}"#, r#"{"a":1.0}"#),
        (br#"{"ok":true,"result":[2]}"#, "[2]"),
        (br#"{"ok":false,"error":{"code":"STOCK.NONE","message":"no"}}"#, "STOCK.NONE"),
        (br#"{"ok":false}"#, "MX.EDGE.HANDLER_ERROR"),
        (br#"{"error":{"code":"E1"}}"#, "E1"),
        (br#"{"result":3}"#, "3"),
        (br#"{"correlationId":"wrong","body":4}"#, "4"),
        (br#"{"body":4,"more":5}"#, r#"{"body":4,"more":5}"#),
        (b"plain text", r#""plain text""#),
    ];
    for (number, (reply, expected)) in all.into_iter().enumerate() {
        let id = format!("m-{number}");
        for (bytes, mailbox) in [(cmd(&id), MX), (legacy(&format!("l-{number}")), LEGACY)] {
            let asked = ask(&edge, &bytes, mailbox, 0);
            let answer = edge.reply(asked.id, reply, at(1)).answer().unwrap();
            assert_eq!(read(answer.bytes()).1, expected);
            assert!(correlation(&answer).ends_with(&number.to_string()), "the request's id stands");
        }
    }
}

#[test]
fn the_first_reply_wins_and_others_are_told_apart() {
    let edge = edge(config());
    let bytes = cmd("1");
    let asked = ask(&edge, &bytes, MX, 0);
    assert!(edge.reply(asked.id, b"1", at(1)).answer().is_some());
    assert!(matches!(edge.reply(asked.id, b"2", at(1)), Replied::Late));
    let foreign = mesh_core::mx::ReplyId([7; 16]);
    assert!(matches!(edge.reply(foreign, b"3", at(1)), Replied::Unknown));
    let counters = edge.counters();
    assert_eq!((counters.replied, counters.late_replies, counters.other_replies), (1, 1, 1));
}

#[test]
fn a_request_is_over_at_its_time_and_not_before() {
    let edge = edge(config());
    let bytes = cmd("1");
    let asked = ask(&edge, &bytes, MX, 100);
    assert_eq!(edge.next_deadline(), Some(at(5_100).monotonic));
    assert!(edge.expire(at(5_099)).is_none());
    let answer = edge.expire(at(5_100)).unwrap();
    assert_eq!(told(&answer), "mx/in/1/shop/00 mxenv1 MX.EDGE.TIMEOUT");
    assert!(edge.expire(at(9_999)).is_none());
    assert!(matches!(edge.reply(asked.id, b"1", at(5_101)), Replied::Late));
    drop(answer);
    assert_eq!((edge.pending(), edge.under_way(), edge.next_deadline()), (0, (0, 0), None));
}

#[test]
fn a_reply_that_no_envelope_carries_is_a_failure_of_the_handler() {
    let mut config = config();
    config.limits.max_answer_bytes = 400;
    let edge = edge(config);
    for (bytes, mailbox) in [(cmd("1"), MX), (legacy("2"), LEGACY)] {
        let asked = ask(&edge, &bytes, mailbox, 0);
        let reply = format!("\"{}\"", "x".repeat(400));
        let answer = edge.reply(asked.id, reply.as_bytes(), at(1)).answer().unwrap();
        assert_eq!(read(answer.bytes()).1, "MX.EDGE.HANDLER_ERROR");
        assert!(answer.bytes().len() <= 400);
    }
    assert_eq!(edge.counters().oversized, 2);
}

#[test]
fn a_reply_too_deep_or_over_the_limit_is_a_failure_of_the_handler() {
    let edge = edge(config());
    let bytes = cmd("1");
    let asked = ask(&edge, &bytes, MX, 0);
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    let answer = edge.reply(asked.id, deep.as_bytes(), at(1)).answer().unwrap();
    assert_eq!(read(answer.bytes()).1, "MX.EDGE.HANDLER_ERROR");
}
