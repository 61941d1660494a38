use proptest::prelude::*;

use super::guards::standard;
use super::*;
use crate::explain::testing::{check, pieces, text};

const AT: Timestamp = Timestamp::from_millis(1_700_000_001_000);

fn edge(realm: Option<&str>, arrival: Arrival) -> Edge {
    Edge::new(
        realm.map(|realm| standard(&RealmName::new(realm).unwrap(), &["admin".to_owned()])),
        arrival,
        AT,
    )
}

fn all(bytes: &[u8], edge: &mut Edge) -> Vec<Explained> {
    split::split(bytes).iter().map(|capture| explain(capture, edge)).collect()
}

fn one(text: &str) -> Explained {
    let mut all = all(text.as_bytes(), &mut edge(Some("acme.com"), Arrival::Now));
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

fn refused(explained: &Explained) -> Option<&'static str> {
    explained.guards.as_ref().and_then(Judged::refused_by)
}

#[test]
fn each_shape_is_known() {
    use Kind::*;
    let event = "x-event-id: e-1\nx-source: mail\nx-node: n1\nx-time: 2026-01-01T00:00:00Z\n\
                 content-type: application/json\n";
    let dead = "x-dead-subject: mesh.events.mail.sent\nx-dead-consumer: n1_audit\n\
                x-dead-reason: max-deliver\nx-dead-time: 2026-01-01T00:00:00Z\n";
    for (text, kind) in [
        (r#"{"msgType":"Evt","to":{"realm":"acme.com","path":"a.emits.m"},"from":{"realm":"shop"},"msgId":"1"}"#.into(), Mxenv1),
        (r#"{"fromRealm":"shop","toPath":"a.accepts.m","correlationId":"c"}"#.into(), LegacyRequest),
        (r#"{"fromRealm":"shop","toPath":"a.emits.m","correlationId":"c"}"#.into(), LegacyEvent),
        (r#"{"ok":false,"correlationId":"c","error":{"code":"E"}}"#.into(), LegacyReply),
        (r#"{"correlationId":"c","replyTo":"a.b","params":1}"#.into(), InternalRequest),
        (r#"{"id":"e","source":"mail","node":"n1","time":"2026-01-01T00:00:00Z","data":null}"#.into(), StructuredEvent),
        (format!("{event}\n{{}}"), Event),
        (format!("{event}{dead}\n{{}}"), DeadLetter),
        (dead.replace("x-dead-subject: mesh.events.mail.sent\n", "X-Source: mail\n"), DeadLetter),
        ("{}".into(), Unknown),
        ("nonsense".into(), Unknown),
    ] {
        let explained = one(&text);
        assert_eq!(explained.kind, kind, "{text}\n{}", super::super::testing::text(&explained));
        assert_eq!(explained.good, kind != Unknown, "{text}");
        check(&explained);
    }
}

#[test]
fn the_guard_that_refuses_is_the_chains_own() {
    let request = |more: &str| {
        format!(r#"{{"fromRealm":"shop","toPath":"a.accepts.m","correlationId":"c"{more}}}"#)
    };
    for (text, guard) in [
        (request(""), None),
        (request(r#","toRealm":"other""#), Some("addressed")),
        (request(r#","timestamp":1700000000000,"ttlMs":1000"#), Some("expiry")),
        (request(r#","timestamp":1700000000000,"ttlMs":1001"#), None),
        (request(r#","replyToRealm":"evil""#), Some("relay")),
        (request("").replace("a.accepts", "admin.accepts"), Some("policy")),
        (request(&format!(r#","msgId":"{}""#, "x".repeat(257))), Some("replay")),
        (request(r#","toRealm":1"#), Some("decode")),
    ] {
        let explained = one(&text);
        assert_eq!(refused(&explained), guard, "{text}");
        assert_eq!(explained.good, guard.is_none(), "{text}");
    }
    let twice = [request(""), request("")].join("\n");
    let guards: Vec<_> = all(twice.as_bytes(), &mut edge(Some("acme.com"), Arrival::Now))
        .iter()
        .map(refused)
        .collect();
    assert_eq!(guards, [None, Some("replay")]);
}

#[test]
fn what_arrives_when_it_was_sent_is_neither_late_nor_too_much_at_once() {
    let lines: Vec<String> = (0..200)
        .map(|n| {
            let sent = 1_600_000_000_000_u64 + n * 1_000;
            format!(
                r#"{{"fromRealm":"shop","toPath":"a.accepts.m","correlationId":"{n}","timestamp":{sent},"ttlMs":10}}"#
            )
        })
        .collect();
    let capture = lines.join("\n");
    let bad = |arrival| {
        let all = all(capture.as_bytes(), &mut edge(Some("acme.com"), arrival));
        let refused = all.iter().filter_map(refused).collect::<Vec<_>>();
        (refused.len(), refused.last().copied())
    };
    assert_eq!(bad(Arrival::Sent), (0, None));
    assert_eq!(bad(Arrival::Now), (200, Some("expiry")));
    assert_eq!(bad(Arrival::At(Timestamp::from_millis(1_600_000_000_000))), (100, Some("rate")));
}

#[test]
fn without_a_realm_nothing_is_judged_and_the_answer_is_told_all_the_same() {
    let text = r#"{"fromRealm":"shop","toPath":"a.accepts.m","correlationId":"c","replyToPath":"b.accepts.r"}"#;
    let mut all = all(text.as_bytes(), &mut edge(None, Arrival::Now));
    let explained = all.remove(0);
    assert!(explained.good && explained.guards.is_none());
    let answer = serde_json::to_value(&explained).unwrap()["answer"].clone();
    assert_eq!(answer["mailbox"], "public.ingress.shop");
    assert_eq!(answer["path"], "b.accepts.r");
}

#[test]
fn an_answer_goes_to_the_kind_of_mailbox_that_the_capture_tells() {
    let text = "subject: mx/in/1/acme.com/07\n\n\
        {\"fromRealm\":\"shop\",\"toPath\":\"a.accepts.m\",\"correlationId\":\"c\"}";
    let answer = serde_json::to_value(one(text)).unwrap()["answer"].clone();
    assert_eq!(
        (answer["mailbox"].as_str(), answer["assumed"].as_bool()),
        (Some("mx/in/1/shop/07"), Some(false))
    );
}

#[test]
fn a_fault_is_told_at_its_place_in_the_capture() {
    let good = r#"{"fromRealm":"shop","toPath":"a.accepts.m","correlationId":"c"}"#;
    for (bad, code, column, hint) in [
        (r#"{"to":{"realm":"a","realm":"b"},"msgType":"Cmd"}"#, "duplicate-key", 20, "leave one"),
        (
            r#"{"toPath":"a.emits.m","fromRealm":"a","correlationId":"c","body":1,"params":"x"}"#,
            "duplicate-key",
            77,
            "leave one",
        ),
        (r#"{"a":"\udc00"}"#, "surrogate", 7, "both halves"),
        (r#"{"a":NaN}"#, "not-finite", 6, "null"),
        (r#"{"a":01}"#, "number", 7, "zero"),
        (r#"{"a":1,}"#, "syntax", 8, "quotes"),
        (r#"{"a":1"#, "end", 7, "cut off"),
        (r#"{"a":"b	c"}"#, "control-character", 8, r"\n"),
        (
            r#"{"msgType":"cmd","to":{"realm":"a","path":"a.emits.m"}}"#,
            "message-type",
            12,
            "one of the six",
        ),
        (
            r#"{"msgType":"Cmd","to":{"realm":"é*","path":"a.emits.m"},"msgId":"1"}"#,
            "realm",
            34,
            "as it is",
        ),
        (r#"{"toPath":"a.b","fromRealm":"a"}"#, "path", 12, "a.accepts.b"),
        (r#"{"toPath":"a.emits.b","fromRealm":"a"}"#, "missing", 1, "add correlationId"),
    ] {
        let capture = format!("{good}\n{bad}\n");
        let all = all(capture.as_bytes(), &mut edge(None, Arrival::Now));
        let explained = &all[1];
        let fault = explained.fault.as_ref().unwrap();
        assert_eq!((fault.code, fault.place.line, fault.place.column), (code, 2, column), "{bad}");
        assert_eq!(
            fault.place.offset,
            good.len() + 1 + bad.char_indices().nth(column - 1).map_or(bad.len(), |(at, _)| at),
            "{bad}"
        );
        assert!(text(explained).contains(hint), "{bad}: {}", text(explained));
    }
}

#[test]
fn all_headers_that_an_event_lacks_are_told_at_once() {
    let explained = one("subject: mesh.events.mail.sent\nx-source: mail\nx-node: n1\n\n{}");
    assert!(text(&explained).contains("hint: add x-event-id, x-time, content-type"));
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(one(&deep).fault.unwrap().code, "depth");
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(DEFAULT_MAX_BYTES));
    let explained = one(&large);
    assert_eq!(explained.fault.as_ref().unwrap().code, "too-large");
    assert!(text(&explained).len() < 2_000);
    let body = format!(
        r#"{{"fromRealm":"shop","toPath":"a.accepts.m","correlationId":"c","body":"{}"}}"#,
        "x".repeat(1 << 19)
    );
    let explained = one(&body);
    assert!(explained.good && text(&explained).len() < 5_000);
}

#[test]
fn a_proof_of_the_sender_is_never_shown() {
    let text = r#"{"msgType":"Cmd","to":{"realm":"acme.com","path":"a.accepts.m"},"from":{"realm":"shop"},"msgId":"1","auth":"s3cr3t-token"}"#;
    let explained = one(text);
    assert!(!super::super::testing::text(&explained).contains("s3cr3t"));
    assert!(!serde_json::to_string(&explained).unwrap().contains("s3cr3t"));
}

#[test]
fn an_event_of_another_module_than_its_subjects_is_not_good() {
    let text = "subject: mesh.events.crm.sent\nx-event-id: e-1\nx-source: mail\nx-node: n1\n\
                x-time: 2026-01-01T00:00:00Z\ncontent-type: application/json\n\n{}";
    let explained = one(text);
    assert!(!explained.good);
    assert!(explained.unhandled.is_some());
    let explained = one(&text.replace("crm", "mail"));
    assert!(explained.good);
}

#[test]
fn a_call_is_known_by_its_subject_and_needs_a_reply_address_that_names_who_answers() {
    let call =
        |reply: &str| format!("subject: mesh.tools.mail.send\n{reply}x-timeout-ms: 500\n\n{{}}");
    let reply = "reply: _INBOX.crm.n1.mail.0000000000000000000000000000002a\n";
    for (text, good) in [
        (call(reply), true),
        (call(""), true),
        (call(&reply.replace(".mail.", ".vault.")), false),
        (call("reply: mesh.node.n1.declare\n"), false),
        (call(reply).replace("mail.send", "mail.provision_grant"), false),
    ] {
        let explained = one(&text);
        assert_eq!((explained.kind, explained.good), (Kind::Call, good), "{text}");
        assert_eq!(explained.unhandled.is_some(), !good, "{text}");
        check(&explained);
    }
}

#[test]
fn other_messages_of_the_mesh_are_known_by_their_subject() {
    let inbox = "_INBOX.crm.n1.mail.0000000000000000000000000000002a";
    for (subject, body, kind) in [
        (inbox, "1", Kind::CallAnswer),
        ("_INBOX.crm.n1.ack.0000000000000000000000000000002a", "{}", Kind::Confirmation),
        ("_INBOX.crm.n1.echo.0000000000000000000000000000002a", "", Kind::Echo),
        ("_INBOX.enrol.t1.answer", "{}", Kind::Message),
        (
            "$JS.ACK.EVENTS.n1_mail.2.17.9.1700000000000000000.0",
            "+TERM no room",
            Kind::Acknowledgement,
        ),
        ("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.n1_mail", "{}", Kind::Notice),
        ("mesh.control.n1.report", "{}", Kind::Message),
        ("mesh.ask.n1.status", "{}", Kind::Call),
        ("mesh.control.n1.report", "{", Kind::Unknown),
        ("mesh.events.mail.sent", "{}", Kind::Unknown),
        ("mx/in/1/acme.com/00", r#"{"ok":true,"correlationId":"c"}"#, Kind::LegacyReply),
    ] {
        let explained = one(&format!("subject: {subject}\n\n{body}"));
        assert_eq!(explained.kind, kind, "{subject} {body}");
    }
    let failed = format!(
        "subject: {inbox}\nNats-Service-Error: no\nNats-Service-Error-Code: NO\n\n{{\"error\":{{\"code\":\"FULL\",\"message\":\"no room\"}}}}"
    );
    assert!(text(&one(&failed)).contains("FULL"));
}

#[test]
fn a_bad_header_is_told_in_its_line() {
    let text = "x-event-id: e-1\nx-source:  Mail\nx-node: n1\nx-time: 2026-01-01T00:00:00Z\n\
                content-type: application/json\n\n{}";
    let fault = one(text).fault.unwrap();
    assert_eq!((fault.code, fault.place.line, fault.place.column), ("name", 2, 12));
}

#[test]
fn moments_are_read_in_two_forms() {
    assert_eq!("now".parse(), Ok(Arrival::Now));
    assert_eq!("sent".parse(), Ok(Arrival::Sent));
    assert_eq!("1700000001000".parse(), Ok(Arrival::At(AT)));
    assert_eq!("2023-11-14T22:13:21Z".parse(), Ok(Arrival::At(AT)));
    for bad in ["", "soon", "99999999999999999999", "2023-11-14"] {
        assert!(bad.parse::<Arrival>().unwrap_err().contains("2026-03-01T12:00:00Z"), "{bad}");
    }
}

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\n",
    "\"msgType\":\"Cmd\"",
    "\"to\":",
    "{\"realm\":\"a\"}",
    "\"toPath\":\"a.emits.m\"",
    "\"fromRealm\":\"b\"",
    "\"correlationId\":\"c\"",
    "\"ok\":true",
    "\\ud800",
    "[#1] Received on \"a.b\"\n",
    "x-event-id: e\n",
    "x-source: mail\n",
    "subject: a.b\n",
    "x-dead-reason: terminated\n",
    "content-type: application/vnd.mesh.event+json\n",
    "\"_mx\":{}",
    "\"Subject\":\"a\",\"Data\":\"e30=\"",
    "1e400",
    "null",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn any_capture_is_explained(capture in pieces(PIECES), arrival in prop::sample::select(&[Arrival::Now, Arrival::Sent][..])) {
        for explained in all(capture.as_bytes(), &mut edge(Some("acme.com"), arrival)) {
            check(&explained);
            if let Some(fault) = &explained.fault {
                prop_assert!(fault.place.offset <= capture.len());
                prop_assert!(!fault.hints.is_empty() || !fault.instead.is_empty());
            }
        }
    }

    #[test]
    fn any_bytes_are_explained(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for explained in all(&bytes, &mut edge(None, Arrival::Now)) {
            check(&explained);
        }
    }
}
