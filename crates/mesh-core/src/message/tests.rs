use super::*;
use crate::port::Limits;

fn message() -> Message {
    Message::new(Subject::new("a.b").unwrap(), "{}")
}

fn header(name: &str, value: &str) -> (HeaderName, HeaderValue) {
    (name.parse().unwrap(), value.parse().unwrap())
}

#[test]
fn a_header_name_has_no_space_colon_or_non_ascii() {
    for (bad, offset) in [("x id", 1), ("x:id", 1), ("é", 0), ("a\r\nb", 1), ("a\0", 1)] {
        let error = HeaderName::new(bad).unwrap_err();
        assert!(
            matches!(error.problem, HeaderProblem::Character { offset: o, .. } if o == offset),
            "{error}"
        );
    }
    assert_eq!(HeaderName::new("").unwrap_err().problem, HeaderProblem::Empty);
}

#[test]
fn a_header_value_never_carries_a_line_break() {
    let error = HeaderValue::new("x\r\nx-source: root").unwrap_err();
    assert_eq!(error.problem, HeaderProblem::Character { found: '\r', offset: 1 });
    assert!(HeaderValue::new(" a").is_err());
    assert!(HeaderValue::new("a\u{a0}").is_err());
    assert!(HeaderValue::new("k=v, k2=v2").is_ok());
    assert!(HeaderValue::new("é").is_ok());
    assert!(HeaderValue::new("").is_ok());
}

#[test]
fn the_named_headers_are_valid_names() {
    for name in [names::EVENT_ID, names::SERVICE_ERROR_CODE, names::DEAD_TIME, names::BAGGAGE] {
        assert_eq!(HeaderName::new(name.to_string()), Ok(name));
    }
}

#[test]
fn setting_replaces_every_value_of_that_name_and_keeps_its_place() {
    let mut headers: Headers =
        [header("a", "1"), header("b", "2"), header("a", "3"), header("A", "4")]
            .into_iter()
            .collect();
    headers.set("a".parse().unwrap(), "9".parse().unwrap());
    assert_eq!(headers.iter().collect::<Vec<_>>(), [("a", "9"), ("b", "2"), ("A", "4")]);
}

#[test]
fn a_name_of_the_mesh_is_known_and_is_no_brokers() {
    for name in names::ALL {
        assert_eq!(HeaderName::known(name.as_str()).as_ref(), Some(name));
        assert_eq!(name.as_static(), Some(name.as_str()));
        assert!(!is_reserved(name.as_str()), "{name}");
    }
    for other in ["", "X-Event-Id", "x-event-i", "x-event-idd", "nats-msg-id"] {
        assert_eq!(HeaderName::known(other), None, "{other}");
    }
    assert_eq!(HeaderName::new("a".to_owned()).unwrap().as_static(), None);
}

#[test]
fn a_broker_header_is_refused_in_any_case() {
    for name in [
        "Nats-Rollup",
        "nats-msg-id",
        "CC",
        "bcc",
        "x-death",
        "X-First-Death-Queue",
        "X-Delivery-Count",
        "Status",
    ] {
        let (name, value) = header(name, "x");
        let problem = message().with_header(name, value).check(&Limits::default()).unwrap_err();
        assert!(matches!(problem, MessageProblem::BrokerHeader { .. }), "{problem}");
    }
    let answer = message().with_header(names::SERVICE_ERROR, "x".parse().unwrap());
    assert_eq!(answer.check(&Limits::default()), Ok(()));
}

#[test]
fn size_and_repetition_are_told_apart() {
    let limits = Limits { max_payload: 3, max_header_bytes: 10 };
    assert!(message().check(&limits).is_ok());
    let large = Message::new(Subject::new("a").unwrap(), "1234").check(&limits).unwrap_err();
    assert_eq!(large, MessageProblem::Payload { max: 3, found: 4 });
    assert!(large.is_size());
    let (name, value) = header("abc", "wxyz");
    assert_eq!(
        message().with_header(name, value).check(&limits),
        Err(MessageProblem::Headers { max: 10, found: 11 })
    );
    let many: Headers = (0..40).map(|n| header(&format!("h{n}"), "")).collect();
    assert_eq!(many.repeated(), None);
    let mut again = many;
    again.append("h7".parse().unwrap(), "".parse().unwrap());
    assert_eq!(again.repeated().map(HeaderName::as_str), Some("h7"));
    let twice: Headers = [header("a", ""), header("a", "")].into_iter().collect();
    let problem = message().with_headers(twice).check(&limits).unwrap_err();
    assert_eq!(problem, MessageProblem::RepeatedHeader { name: "a".into() });
    assert!(!problem.is_size());
}

#[test]
fn debug_shows_no_value_and_no_body() {
    let (name, value) = header("authorization", "hunter2");
    let text = format!(
        "{:?}",
        Message::new(Subject::new("a").unwrap(), "s3cret").with_header(name, value)
    );
    assert!(text.contains("authorization") && text.contains("payload_bytes: 6"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("s3cret"), "{text}");
}

#[test]
fn a_clone_shares_until_it_is_changed() {
    let first = message();
    let second = first.clone().with_reply(Subject::new("r").unwrap());
    assert_eq!(first.reply(), None);
    assert_eq!(second.reply().unwrap().as_str(), "r");
    assert_eq!(first.payload(), second.payload());
}
