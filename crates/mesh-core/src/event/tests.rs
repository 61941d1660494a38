use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::json::JsonProblem;

const FACTS: [(&str, &str); 5] = [
    ("x-event-id", "e-1"),
    ("x-source", "mail"),
    ("x-node", "n1"),
    ("x-time", "2026-01-01T00:00:00.000Z"),
    ("content-type", "application/json"),
];

fn decode(headers: &[(&str, &str)], body: &'static str) -> Result<Event, EventError> {
    Event::decode(headers.iter().copied(), Bytes::from_static(body.as_bytes()))
}

/// The facts of `FACTS`, without those that `others` give, and `others`.
fn with(others: &[(&'static str, &'static str)]) -> Result<Event, EventError> {
    let mut headers: Vec<_> = FACTS.to_vec();
    headers.retain(|(name, _)| others.iter().all(|(other, _)| !other.eq_ignore_ascii_case(name)));
    headers.extend(others);
    decode(&headers, "{}")
}

fn refused(others: &[(&'static str, &'static str)]) -> String {
    with(others).unwrap_err().to_string()
}

fn again(event: &Event) -> Event {
    let headers = event.headers();
    let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
    Event::decode(pairs, event.data().as_bytes().clone()).unwrap()
}

#[test]
fn each_required_header_is_required() {
    for (left_out, _) in FACTS {
        let mut headers = FACTS.to_vec();
        headers.retain(|(name, _)| *name != left_out);
        let error = decode(&headers, "{}").unwrap_err();
        assert_eq!((&*error.field, error.problem), (left_out, EventProblem::Missing));
    }
}

#[test]
fn lower_case_counts_before_any_other() {
    let source = |headers: &[_]| with(headers).unwrap().source().to_string();
    assert_eq!(source(&[("X-Source", "ledger")]), "ledger");
    assert_eq!(source(&[("X-Source", "ledger"), ("x-source", "mail")]), "mail");
    assert_eq!(source(&[("X-Source", "mail"), ("X-SOURCE", "mail")]), "mail");
    let event = with(&[("X-Source", "ledger"), ("x-source", "mail")]).unwrap();
    assert_eq!(event.extra().iter().len(), 0, "the other spelling is not passed on");
}

#[test]
fn a_header_twice_with_different_values_is_refused() {
    let expected = "event: x-source: given twice with different values";
    assert_eq!(refused(&[("x-source", "a"), ("x-source", "b")]), expected);
    assert_eq!(refused(&[("X-Source", "a"), ("X-SOURCE", "b")]), expected);
    assert!(with(&[("x-source", "a"), ("x-source", "a")]).is_ok());
    assert!(with(&[("x-schema", "1"), ("x-schema", "2")]).is_err());
    let traces =
        with(&[("traceparent", "a"), ("traceparent", "b"), ("baggage", "a=1"), ("baggage", "b=2")]);
    let trace = traces.unwrap().trace().clone();
    assert_eq!(trace.traceparent, None);
    assert_eq!(trace.baggage.as_deref(), Some("a=1,b=2"));
}

#[test]
fn a_bad_value_names_its_header_and_offset() {
    for (header, value, message) in [
        ("x-event-id", "", "event: x-event-id: empty"),
        ("x-event-id", "a%0", "event: x-event-id: bad percent-encoding at offset 1"),
        ("x-event-id", "a%ff", "event: x-event-id: not UTF-8 at offset 1"),
        ("x-event-id", "é", "event: x-event-id: not printable at offset 0"),
        (
            "x-source",
            "ma*l",
            "event: x-source: module name: character '*' at offset 2 is not allowed",
        ),
        ("x-node", "enrol", "event: x-node: node name: reserved by the mesh"),
        ("x-time", "2026-01-01", "event: x-time: RFC 3339 time: expected `T` at offset 10"),
        ("content-type", "text/plain", "event: content-type: not the content type of an event"),
        // A line break in a cause never becomes a header of its own.
        (
            "x-causation-id",
            "x%0D%0Ax-source: root",
            "event: x-causation-id: not printable at offset 1",
        ),
        (
            "x-causation-id",
            "x\r\nx-source: root",
            "event: x-causation-id: not printable at offset 1",
        ),
        ("x id", "1", "event: x id: not a header's name at offset 1"),
        ("x-é", "1", "event: x-é: not a header's name at offset 2"),
        ("user-agent", "a\0", "event: user-agent: line break or NUL at offset 1"),
    ] {
        assert_eq!(refused(&[(header, value)]), message);
    }
    assert!(with(&[("x-event-id", "a".repeat(129).leak())]).is_err());
    assert!(EventId::new("x\r\nx-source: root").is_err());
    assert!(
        with(&[("tracestate", "a\nb")]).unwrap().trace().is_empty(),
        "no reason to refuse an event"
    );
}

#[test]
fn a_body_that_is_not_json_is_refused_where_it_goes_wrong() {
    for (body, problem, offset) in [
        ("", JsonProblem::UnexpectedEnd, 0),
        ("{} {}", JsonProblem::TrailingText, 3),
        ("\u{feff}{}", JsonProblem::ByteOrderMark, 0),
        ("[\"\\ud800\"]", JsonProblem::LoneSurrogate, 2),
    ] {
        let error = decode(&FACTS, body).unwrap_err();
        let EventProblem::Json(json) = error.problem else { panic!("{error}") };
        assert_eq!((&*error.field, json.problem, json.offset), ("body", problem, offset));
    }
}

#[test]
fn an_unknown_header_is_passed_on_and_the_brokers_is_not() {
    let event = with(&[
        ("x-new", "a b%zz%41"),
        ("X-Other", "1"),
        ("user-agent", "x y"),
        ("Nats-Msg-Id", "1"),
        ("nats-rollup", "all"),
        ("Status", "503"),
    ])
    .unwrap();
    let extra: Vec<_> = event.extra().iter().collect();
    assert_eq!(extra, [("x-new", "a%20b%zz%41"), ("X-Other", "1"), ("user-agent", "x y")]);
    assert_eq!(event.extra().text("x-new").unwrap(), "a%20b%zz%41", "not all escapes are whole");
    assert_eq!(again(&event), event);
}

#[test]
fn an_extra_header_is_checked_when_it_is_added() {
    let mut extra = ExtraHeaders::default();
    assert_eq!(extra.insert("x-tenant", "é \"1%\"\r\n"), Ok(()));
    assert_eq!(extra.iter().next(), Some(("x-tenant", "%C3%A9%20%221%25%22%0D%0A")));
    assert_eq!(extra.text("X-TENANT").unwrap(), "é \"1%\"\r\n");
    assert_eq!(extra.insert("x id", ""), Err(ExtraProblem::Name { offset: 1 }));
    assert_eq!(extra.insert("", ""), Err(ExtraProblem::Name { offset: 0 }));
    assert_eq!(extra.insert("X-Source", "root"), Err(ExtraProblem::Reserved));
    assert_eq!(extra.insert("nats-rollup", "all"), Err(ExtraProblem::Reserved));
    assert_eq!(extra.insert("a", "b\rc"), Err(ExtraProblem::LineBreak { offset: 1 }));
}

#[test]
fn a_structured_body_is_read_and_its_data_kept_byte_for_byte() {
    let body = r#"{"id":"e 1","source":"mail","node":"n1","time":"2026-01-01T01:00:00+01:00","x9":1,
        "contentType":"application/json","causationId":null,"schema":"2","data": {"b": 1.50, "a":[ ]} }"#;
    let headers =
        [("content-type", "application/vnd.mesh.event+json; charset=utf-8"), ("x-new", "1")];
    let event = decode(&headers, body).unwrap();
    assert_eq!(event.data().as_str(), r#"{"b": 1.50, "a":[ ]}"#);
    assert_eq!((event.id().as_str(), event.schema(), event.causation()), ("e 1", Some("2"), None));
    assert_eq!(event.publish_id(), "n1.mail.e%201");
    assert_eq!(again(&event), event);
    let (headers, body) = event.structured();
    let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
    assert_eq!(Event::decode(pairs, body).unwrap(), event);
}

#[test]
fn a_structured_body_is_strict() {
    let structured = |extra: &[(&'static str, &'static str)], body| {
        let mut headers = vec![("content-type", STRUCTURED)];
        headers.extend(extra);
        decode(&headers, body).unwrap_err().to_string()
    };
    let good =
        r#"{"id":"1","source":"mail","node":"n1","time":"2026-01-01T00:00:00Z","data":null}"#;
    assert!(decode(&[("content-type", STRUCTURED)], good).is_ok());
    assert_eq!(
        structured(&[("x-source", "root")], good),
        "event: x-source: given twice with different values"
    );
    assert_eq!(
        structured(&[], r#"{"id":"1","id":"2"}"#),
        "event: body: JSON: duplicate key at offset 10"
    );
    assert_eq!(structured(&[], "[]"), "event: body: JSON: expected an object at offset 0");
    assert_eq!(structured(&[], "{}"), "event: data: missing");
    assert_eq!(
        structured(&[], r#"{"data":1,"time":5}"#),
        "event: time: not a string, at offset 17"
    );
    assert_eq!(
        structured(&[], r#"{"data":1,"contentType":"text/plain"}"#),
        "event: contentType: not the content type of an event"
    );
}

#[test]
fn a_source_other_than_the_subjects_module_is_unverifiable() {
    let event = with(&[]).unwrap();
    assert_eq!(event.verify_source(&"mail".parse().unwrap()), Ok(()));
    let error = event.verify_source(&"ledger".parse().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "unverifiable: x-source says mail, the subject says ledger");
}

#[test]
fn outside_text_never_becomes_a_subject_or_a_second_header() {
    for text in ["a b", "a\tb", "a\0", "a\u{a0}b", "a\r\nb", "a.*", ">"] {
        let error = crate::name::EventName::new(text).unwrap_err();
        assert_eq!(error.kind, "event name", "{text:?}");
        if text != "a b" && text != "a.*" && text != ">" {
            assert!(EventId::new(text).is_err(), "{text:?}");
        }
    }
}

#[test]
fn an_id_made_here_is_a_version_7_uuid_of_its_moment() {
    let id = EventId::v7(Timestamp::from_millis(1_767_225_600_000), [0xff; 10]);
    assert_eq!(id.as_str(), "019b76da-a800-7fff-bfff-ffffffffffff");
    assert_eq!(id, EventId::v7(Timestamp::from_millis(1_767_225_600_000), [0xff; 10]));
    assert!(id < EventId::v7(Timestamp::from_millis(1_767_225_600_001), [0; 10]));
    assert!(EventId::v7(Timestamp::MIN, [0; 10]).as_str().starts_with("00000000-0000-7"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn both_modes_read_back(
        id in "[ -~]{1,128}",
        cause in proptest::option::of("[ -~]{1,32}"),
        schema in proptest::option::of(".{0,16}"),
        name in "x-u[a-z]{0,4}",
        text in any::<String>(),
        millis in 0..253_402_300_799_999i64,
        data in any::<Vec<Option<f32>>>(),
    ) {
        let data: Vec<_> = data.into_iter().map(|n| n.filter(|n| n.is_finite())).collect();
        let mut extra = ExtraHeaders::default();
        extra.insert(&name, &text).unwrap();
        prop_assert_eq!(extra.text(&name).unwrap(), text);
        let mut event = Event::new(
            EventId::new(id).unwrap(),
            "mail".parse().unwrap(),
            "n1".parse().unwrap(),
            Timestamp::from_millis(millis),
            JsonText::from_value(&data).unwrap(),
        )
        .with_extra(extra);
        event.causation = cause.map(|cause| EventId::new(cause).unwrap());
        event.schema = schema;
        for (name, value) in event.headers() {
            prop_assert!(value.bytes().all(|b| b.is_ascii_graphic()), "{}: {}", name, value);
        }
        prop_assert_eq!(&again(&event), &event);
        let (headers, body) = event.structured();
        let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
        prop_assert_eq!(Event::decode(pairs, body).unwrap(), event);
    }

    #[test]
    fn no_message_panics_and_an_accepted_one_is_stable(
        others in proptest::collection::vec(
            ("(?i)(x-event-id|x-source|x-time|content-type|baggage|x-[a-z é]{0,3})", "[a-c%0-9é\r /]{0,6}"),
            0..4,
        ),
        body in prop_oneof![Just("{}".to_owned()), "[{}\":,a-z0-9]{0,16}"],
        structured in any::<bool>(),
    ) {
        let kind = if structured { STRUCTURED } else { JSON };
        let mut headers = vec![("content-type", kind)];
        headers.extend(&FACTS[..4]);
        headers.extend(others.iter().map(|(name, value)| (&**name, &**value)));
        if let Ok(event) = Event::decode(headers, body.into()) {
            prop_assert_eq!(&again(&event), &event);
        }
    }
}
