use super::*;
use crate::message::{HeaderName, HeaderValue, names};
use crate::name::ConsumerName;
use crate::topology::StreamName;

fn subject(text: &str) -> Subject {
    Subject::new(text).unwrap()
}

fn letter() -> DeadLetter {
    DeadLetter {
        subject: Some(subject("mesh.events.mail.letter.sent")),
        consumer: ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_audit").unwrap()),
        sequence: Some(42),
        deliveries: Some(5),
        reason: DeadReason::Terminated,
        error: Some(Reason::new("100 % \"wrong\", é")),
        time: Timestamp::from_millis(1_700_000_000_123),
    }
}

fn event(headers: &[(&str, &str)]) -> Message {
    let mut all = Headers::default();
    for (name, value) in headers {
        all.append(name.parse().unwrap(), value.parse().unwrap());
    }
    Message::new(subject("mesh.events.mail.letter.sent"), r#"{"n":1}"#).with_headers(all)
}

fn names_of(message: &Message) -> Vec<&str> {
    let names = message.headers().iter().map(|(name, _)| name);
    names.filter(|name| !name.starts_with("x-dead-")).collect()
}

#[test]
fn body_and_application_headers_are_unchanged() {
    let event = event(&[("x-event-id", "e-1"), ("X-Mine", " a=b".trim()), ("x-zoo", "é")]);
    let dead = letter().to_message(Some(&event), &Limits::default());
    assert_eq!(dead.payload(), event.payload());
    assert_eq!(names_of(&dead), ["x-event-id", "X-Mine", "x-zoo"]);
    assert_eq!(dead.headers().value("x-zoo"), Some("é"));
    assert!(dead.check(&Limits::default()).is_ok());
    assert_eq!(dead.reply(), None);
}

#[test]
fn what_would_steer_a_replay_or_a_broker_is_dropped_in_any_case() {
    let event = event(&[
        ("x-dead-reason", "forged"),
        ("X-DEAD-Consumer", "forged"),
        ("Nats-Msg-Id", "forged"),
        ("nats-rollup", "all"),
        ("NATS-Expected-Last-Sequence", "9"),
        ("Nats-Service-Error", "x"),
        ("CC", "a"),
        ("x-first-death-queue", "q"),
        ("x-kept", "1"),
        ("x-kept", "2"),
    ]);
    let dead = letter().to_message(Some(&event), &Limits::default());
    assert_eq!(names_of(&dead), ["x-kept"]);
    assert_eq!(dead.headers().value("x-kept"), Some("1"));
    assert_eq!(dead.headers().value("x-dead-reason"), Some("terminated"));
    assert!(dead.check(&Limits::default()).is_ok());
}

#[test]
fn its_headers_say_what_happened() {
    let dead = letter().to_message(Some(&event(&[])), &Limits::default());
    let headers: Vec<_> = dead.headers().iter().collect();
    assert_eq!(
        headers,
        [
            ("x-dead-subject", "mesh.events.mail.letter.sent"),
            ("x-dead-consumer", "n1_audit"),
            ("x-dead-sequence", "42"),
            ("x-dead-deliveries", "5"),
            ("x-dead-reason", "terminated"),
            ("x-dead-error", "100%20%25%20%22wrong%22,%20%C3%A9"),
            ("x-dead-time", "2023-11-14T22:13:20.123Z"),
        ]
    );
    assert_eq!(DeadLetter::parse(&dead), Ok(letter()));
}

#[test]
fn what_exceeds_a_limit_loses_optional_headers_first_and_then_everything() {
    let long = "v".repeat(3000);
    let event = event(&[("x-event-id", "e-1"), ("x-long", &long)]);
    let limits = |max_payload, max_header_bytes| Limits { max_payload, max_header_bytes };
    let whole = letter().to_message(Some(&event), &limits(100, 4000));
    assert_eq!(names_of(&whole), ["x-event-id", "x-long"]);
    let required = letter().to_message(Some(&event), &limits(100, 1000));
    assert_eq!(names_of(&required), ["x-event-id"]);
    assert_eq!(required.payload(), event.payload());
    assert_eq!(required.headers().value("x-dead-error"), None);
    for limits in [limits(3, 4000), limits(100, 10)] {
        let reference = letter().to_message(Some(&event), &limits);
        assert!(names_of(&reference).is_empty());
        assert!(reference.payload().is_empty());
        assert_eq!(reference.headers().value("x-dead-sequence"), Some("42"));
        assert_eq!(DeadLetter::replay(&reference), Err(ReplayError::Reference));
    }
}

#[test]
fn an_event_that_is_gone_leaves_a_reference() {
    let gone = DeadLetter { subject: None, reason: DeadReason::AgedOut, error: None, ..letter() };
    let dead = gone.to_message(None, &Limits::default());
    assert_eq!(DeadLetter::parse(&dead), Ok(gone));
    assert_eq!(DeadLetter::replay(&dead), Err(ReplayError::Reference));
}

#[test]
fn a_replay_goes_to_the_consumer_that_failed_and_carries_no_trace_of_its_death() {
    let event = event(&[("x-event-id", "e-1"), ("x-mine", "m")]);
    let dead = letter().to_message(Some(&event), &Limits::default());
    let replay = DeadLetter::replay(&dead).unwrap();
    assert_eq!(replay.subject().as_str(), "mesh.replay.n1_audit.mail.letter.sent");
    assert_eq!(replay.headers(), event.headers());
    assert_eq!(replay.payload(), event.payload());

    // It fails again: its dead letter names the event's own subject, so it can be sent back again.
    let again = DeadLetter { subject: Some(replay.subject().clone()), ..letter() };
    let dead = again.to_message(Some(&replay), &Limits::default());
    assert_eq!(DeadLetter::parse(&dead), Ok(letter()));
    assert_eq!(DeadLetter::replay(&dead), Ok(replay));
}

#[test]
fn only_an_events_dead_letter_is_sent_back() {
    let other = DeadLetter { subject: Some(subject("mesh.control.built")), ..letter() };
    let dead = other.to_message(Some(&event(&[("x-event-id", "1")])), &Limits::default());
    let found = subject("mesh.control.built");
    assert_eq!(DeadLetter::replay(&dead), Err(ReplayError::NotAnEvent(found)));
}

#[test]
fn a_header_that_is_missing_or_wrong_is_named() {
    let dead = letter().to_message(Some(&event(&[])), &Limits::default());
    for name in [
        names::DEAD_CONSUMER,
        names::DEAD_SEQUENCE,
        names::DEAD_DELIVERIES,
        names::DEAD_REASON,
        names::DEAD_TIME,
    ] {
        let mut headers = dead.headers().clone();
        headers.retain(|known, _| known != name.as_str());
        let without = dead.clone().with_headers(headers);
        let optional = [names::DEAD_SEQUENCE, names::DEAD_DELIVERIES].contains(&name);
        match DeadLetter::parse(&without) {
            Ok(_) => assert!(optional, "{name} is not missed"),
            missing => assert_eq!(missing, Err(DeadLetterError::Missing(name.clone()))),
        }
        for bad in ["", "%ff", "9x"] {
            let bad = dead.clone().with_header(name.clone(), HeaderValue::new(bad).unwrap());
            let wrong = DeadLetterError::Unreadable(name.clone());
            let parsed = DeadLetter::parse(&bad);
            assert!(
                parsed == Err(wrong) || name == names::DEAD_CONSUMER && parsed.is_ok(),
                "{name} {parsed:?}"
            );
        }
    }
}

#[test]
fn what_a_broker_does_not_count_is_not_made_up() {
    let letter = DeadLetter { sequence: None, deliveries: None, ..letter() };
    let event =
        event(&[("x-event-id", "e-1"), ("x-dead-sequence", "9"), ("x-dead-deliveries", "9")]);
    let dead = letter.to_message(Some(&event), &Limits::default());
    assert_eq!(DeadLetter::parse(&dead), Ok(letter.clone()));
    assert!(DeadLetter::replay(&dead).is_ok());
    assert_eq!(letter.publish_id(Timestamp::from_millis(1)), None, "an id that names no message");
}

#[test]
fn the_longest_names_make_a_publish_id_and_every_time_can_be_told() {
    let consumer = format!("{}_{}", "n".repeat(63), "m".repeat(63));
    for millis in [i64::MIN, -1, i64::MAX] {
        let time = Timestamp::from_millis(millis);
        let letter = DeadLetter {
            consumer: ConsumerRef::new(StreamName::Events, ConsumerName::new(&consumer).unwrap()),
            sequence: Some(u64::MAX),
            time,
            ..letter()
        };
        assert!(letter.publish_id(time).is_some());
        let dead = letter.to_message(None, &Limits::default());
        assert!(dead.headers().value(HeaderName::as_str(&names::DEAD_TIME)).is_some());
        assert!(DeadLetter::parse(&dead).is_ok());
    }
}
