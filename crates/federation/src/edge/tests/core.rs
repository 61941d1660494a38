use mesh_core::json::RawJson;
use mesh_core::mx::{InternalRequest, MsgType, Party, Profile};

use super::super::*;
use super::support::*;

const INSIDE: &str = "mx/1/acme.com/stock.accepts.count";

#[test]
fn a_request_is_answered_in_its_own_profile_and_kind_of_mailbox() {
    let edge = edge(config());
    // Each profile by each mailbox: they are told apart by shape, not topic.
    let all = [
        (cmd("1"), MX, "mx/in/1/shop/00 mxenv1 [2]"),
        (cmd("2"), LEGACY, "public.ingress.shop mxenv1 [2]"),
        (legacy("3"), LEGACY, "public.ingress.shop legacy [2]"),
        (legacy("4"), MX, "mx/in/1/shop/00 legacy [2]"),
    ];
    for (bytes, mailbox, expected) in all {
        let asked = ask(&edge, &bytes, mailbox, 0);
        assert_eq!(asked.message.subject().as_str(), INSIDE);
        let answer = edge.reply(asked.id, b"[2]", at(1)).answer().unwrap();
        assert_eq!(told(&answer), expected);
        assert!(correlation(&answer).starts_with("c-"));
    }
    assert_eq!((edge.pending(), edge.under_way()), (0, (0, 0)));
}

#[test]
fn a_component_gets_the_body_as_it_is_and_what_the_gateway_knows() {
    let edge = edge(config());
    let mut request = request(MsgType::Cmd, "stock.accepts.count", "m-1");
    request.body =
        Some(RawJson::new(r#"{"n": 1.50, "big":12345678901234567890123,"n2":1e400}"#).unwrap());
    request.principal = Some(RawJson::new(r#"{"iss":"https://id","sub":"ada"}"#).unwrap());
    request.trace_id = Some("t-1".into());
    let bytes = request.encode().unwrap();
    let ask = ask(&edge, &bytes, MX, 0);
    let inside = InternalRequest::decode(ask.message.payload(), usize::MAX).unwrap();
    assert_eq!(inside.params.as_str(), r#"{"n": 1.50, "big":12345678901234567890123,"n2":1e400}"#);
    assert_eq!(inside.correlation_id, "c-m-1");
    assert_eq!(inside.reply_to.as_str(), format!("mx/1/acme.com/_reply.{}", ask.id));
    assert!(inside.envelope.is_none());
    let mx = inside.mx.unwrap();
    assert_eq!(mx.from_realm.as_str(), "shop");
    assert_eq!(mx.incoming_profile, Profile::MxEnv1);
    assert_eq!(mx.msg_id.as_deref(), Some("m-1"));
    assert_eq!(mx.principal_key.as_deref(), Some("https%3A%2F%2Fid|ada"));
    assert_eq!(mx.trace_id.as_deref(), Some("t-1"));
}

#[test]
fn what_a_remote_calls_mx_is_never_passed_on() {
    let mut config = config();
    config.include_envelope = true;
    let edge = edge(config);
    let bytes = br#"{"fromRealm":"shop","toPath":"stock.accepts.count","correlationId":"c","_mx":{"fromRealm":"boss","incomingProfile":"legacy"},"body":{"a":1}}"#;
    let ask = ask(&edge, bytes, LEGACY, 0);
    let inside = InternalRequest::decode(ask.message.payload(), usize::MAX).unwrap();
    assert_eq!(inside.mx.unwrap().from_realm.as_str(), "shop");
    let envelope = inside.envelope.unwrap();
    assert!(envelope.as_str().contains(r#""body":{"a":1}"#));
    assert!(!envelope.as_str().contains("boss"));
}

#[test]
fn an_event_is_its_bare_body_without_mx_and_is_never_answered() {
    let edge = edge(config());
    let bytes = event("e-1", r#"{"a": 1e400, "_mx": {"fromRealm":"boss"}, "b":2}"#);
    let Reaction::Tell(tell) = edge.receive(&bytes, MX, at(0)) else { panic!() };
    assert_eq!(tell.message.subject().as_str(), "mx/1/acme.com/stock.emits.changed");
    assert_eq!(&tell.message.payload()[..], br#"{"a": 1e400,"b":2}"#);
    assert!(tell.message.reply().is_none());
    assert_eq!(edge.pending(), 0);
    let old = br#"{"fromRealm":"shop","toPath":"stock.emits.changed","correlationId":"c"}"#;
    let Reaction::Tell(tell) = edge.receive(old, LEGACY, at(0)) else { panic!() };
    assert_eq!(&tell.message.payload()[..], b"null");
}

#[test]
fn a_subscription_and_its_end_are_routed_like_a_command() {
    let edge = edge(config());
    for (kind, id) in [(MsgType::Sub, "s"), (MsgType::Unsub, "u")] {
        let bytes = request(kind, "_federation.accepts.subscribe", id).encode().unwrap();
        let expected = "ask mx/1/acme.com/_federation.accepts.subscribe";
        assert_eq!(receive(&edge, &bytes, MX, 0), expected);
    }
}

#[test]
fn a_command_for_an_events_path_is_a_bad_request_and_an_event_for_a_commands_is_dropped() {
    let edge = edge(config());
    let bytes = request(MsgType::Cmd, "stock.emits.changed", "1").encode().unwrap();
    let expected = "mx/in/1/shop/00 mxenv1 MX.EDGE.BAD_REQUEST";
    assert_eq!(receive(&edge, &bytes, MX, 0), expected);
    let old = br#"{"fromRealm":"shop","toPath":"stock.emits.changed","correlationId":"c","replyToPath":"a.accepts.b"}"#;
    let expected = "public.ingress.shop legacy MX.EDGE.BAD_REQUEST";
    assert_eq!(receive(&edge, old, LEGACY, 0), expected);
    let bytes = request(MsgType::Evt, "stock.accepts.count", "2").encode().unwrap();
    assert_eq!(receive(&edge, &bytes, MX, 0), "drop by route: an event for a command's path");
    assert_eq!(edge.counters().unroutable, 3);
}

#[test]
fn a_path_too_long_for_the_realms_topics_is_a_bad_request() {
    let edge = edge(config());
    let long: &'static str = Box::leak(format!("{}.accepts.b", "a".repeat(238)).into_boxed_str());
    let bytes = request(MsgType::Cmd, long, "1").encode().unwrap();
    let expected = "mx/in/1/shop/00 mxenv1 MX.EDGE.BAD_REQUEST";
    assert_eq!(receive(&edge, &bytes, MX, 0), expected);
}

#[test]
fn the_realms_own_works_are_closed_but_for_leases() {
    let edge = edge(config());
    let closed = "mx/in/1/shop/00 mxenv1 MX.EDGE.POLICY_DENIED";
    let all = [
        ("_edge.accepts.stop", closed),
        ("a._b.accepts.stop", closed),
        ("_mount/a.accepts.stop", closed),
        ("_federation.accepts.list", closed),
        ("x/_federation.accepts.subscribe", closed),
        ("_federation.accepts.refresh", "ask mx/1/acme.com/_federation.accepts.refresh"),
        ("_federation.accepts.unsubscribe", "ask mx/1/acme.com/_federation.accepts.unsubscribe"),
        ("a_.accepts.b", "ask mx/1/acme.com/a_.accepts.b"),
    ];
    for (number, (to, expected)) in all.into_iter().enumerate() {
        let bytes = request(MsgType::Cmd, to, &format!("m-{number}")).encode().unwrap();
        assert_eq!(receive(&edge, &bytes, MX, 0), expected, "{to}");
    }
    let bytes = request(MsgType::Evt, "_edge.emits.answer", "e").encode().unwrap();
    let expected = "drop by closed: this component is closed to other realms";
    assert_eq!(receive(&edge, &bytes, MX, 0), expected);
}

#[test]
fn answers_go_to_who_asked_and_are_never_answered() {
    let edge = edge(config());
    for (kind, id) in [(MsgType::Result, "r"), (MsgType::Nack, "n")] {
        let bytes = request(kind, "_desk.accepts.answer", id).encode().unwrap();
        assert_eq!(receive(&edge, &bytes, MX, 0), format!("settle c-{id}"));
        assert_eq!(receive(&edge, &bytes, MX, 0), "drop by replay: seen before");
    }
    let reply = br#"{"correlationId":"c-9","ok":false}"#;
    assert_eq!(receive(&edge, reply, LEGACY, 0), "settle c-9");
    let mut untied = request(MsgType::Result, "desk.accepts.answer", "x");
    untied.correlation_id = None;
    let bytes = untied.encode().unwrap();
    assert_eq!(receive(&edge, &bytes, MX, 0), "drop by route: an answer without a correlationId");
    assert_eq!(edge.counters().answers, 3);
}

#[test]
fn a_relay_attempt_produces_nothing() {
    let edge = edge(config());
    let mut bent = request(MsgType::Cmd, "stock.accepts.count", "1");
    bent.reply_to = Some(Party::new(&realm("third"), Some(path("a.accepts.b"))).into_owned());
    let bytes = bent.encode().unwrap();
    let expected = "drop by relay: the answer would go to another realm";
    assert_eq!(receive(&edge, &bytes, MX, 0), expected);
    let old = br#"{"fromRealm":"shop","toPath":"a.accepts.b","correlationId":"c","replyToRealm":"third"}"#;
    assert_eq!(receive(&edge, old, LEGACY, 0), expected);
    assert_eq!(edge.counters().asked, 0);
}

#[test]
fn a_request_that_nobody_could_be_answered_to_is_dropped() {
    let edge = edge(config());
    let mut mute = request(MsgType::Cmd, "stock.accepts.count", "1");
    mute.reply_to = None;
    let bytes = mute.encode().unwrap();
    assert_eq!(receive(&edge, &bytes, MX, 0), "drop by route: nowhere to answer to");
}

#[test]
fn bytes_that_are_no_envelope_are_dropped_and_counted() {
    let edge = edge(config());
    for bytes in [&b""[..], b"{}", b"[1]", b"\xff", br#"{"msgType":"Evt","msgType":"Cmd"}"#] {
        assert!(receive(&edge, bytes, MX, 0).starts_with("drop by decode"));
    }
    assert_eq!(edge.guards().undecodable, 5);
    assert_eq!(edge.counters().dropped, 5);
}
