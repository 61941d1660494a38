//! What hostile input once did to the core; each test names the behaviour that is right.

use mesh_core::credential::Host;
use mesh_core::event::{Event, EventId};
use mesh_core::identity::Instance;
use mesh_core::json::JsonText;
use mesh_core::message::{
    HeaderName, HeaderValue, Headers, Message, PublishId, PublishIdError, names,
};
use mesh_core::mx::{
    Address, AnswerRoute, DEFAULT_MAX_BYTES, Decoded, Envelope, MsgType, MxPath, Party, Profile,
    Stamp, decode, decode_reply,
};
use mesh_core::name::{ModuleName, NodeName, RealmName};
use mesh_core::permissions::{ModuleGrants, Permissions};
use mesh_core::port::Limits;
use mesh_core::provision::{GrantRequest, Granted, ProvisionKey};
use mesh_core::subject::{Filter, Subject};
use mesh_core::time::Timestamp;
use mesh_core::tool::ToolFailure;

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn nested_object(depth: usize) -> String {
    format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth))
}

#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn event(data: JsonText, id: &str) -> Event {
    Event::new(
        EventId::new(id).unwrap(),
        "mail".parse().unwrap(),
        "n1".parse().unwrap(),
        Timestamp::UNIX_EPOCH,
        data,
    )
}

#[test]
fn an_answer_that_its_envelope_would_nest_too_deep_is_a_failure() {
    for depth in 120..=130 {
        let reply = nested(depth);
        let Ok(body) = decode_reply(reply.as_bytes(), DEFAULT_MAX_BYTES) else { continue };
        let realm = RealmName::new("a.com").unwrap();
        let path = MxPath::new("x.accepts.y").unwrap();
        let party = Party::new(&realm, Some(path.borrowed()));
        let mut request = Envelope::new(MsgType::Cmd, party, Address::new(&realm, path.borrowed()));
        request.msg_id = Some("m".into());
        for profile in Profile::ALL {
            let answer =
                AnswerRoute::of(&request, *profile).unwrap().ok(&Stamp::new("n", 0), &body);
            assert!(decode(&answer, DEFAULT_MAX_BYTES).is_ok(), "{profile} depth {depth}");
        }
    }
}

#[test]
fn a_request_never_encodes_to_what_its_reader_refuses() {
    let key = ProvisionKey {
        provision: "db".parse().unwrap(),
        consumer: Instance { node: "n1".parse().unwrap(), module: "mail".parse().unwrap() },
    };
    for depth in 120..=126 {
        let Ok(request) =
            GrantRequest::new(key.clone(), JsonText::new(nested_object(depth)).unwrap())
        else {
            continue;
        };
        assert_eq!(
            GrantRequest::decode(request.encode().as_bytes()).unwrap(),
            request,
            "depth {depth}"
        );
    }
}

#[test]
fn a_granted_credential_never_encodes_to_what_its_reader_refuses() {
    for depth in 120..=126 {
        let fields = [("a".to_owned(), JsonText::new(nested(depth)).unwrap())].into();
        let Ok(granted) = Granted::new(fields, &["a"]) else { continue };
        assert_eq!(
            Granted::decode(granted.encode().as_bytes(), &["a"]).unwrap(),
            granted,
            "depth {depth}"
        );
    }
}

#[test]
fn a_structured_event_reads_back() {
    for depth in 120..=126 {
        let event = event(JsonText::new(nested(depth)).unwrap(), "e");
        let (headers, body) = event.structured();
        let pairs = headers.iter().map(|(n, v)| (&**n, &**v));
        assert_eq!(Event::decode(pairs, body).unwrap(), event, "depth {depth}");
    }
}

#[test]
fn data_at_the_deepest_that_is_taken_can_be_read_as_a_type() {
    let text = JsonText::new(nested(126)).unwrap();
    text.decode::<serde_json::Value>().unwrap();
}

#[test]
fn an_id_too_long_for_the_broker_is_a_typed_error() {
    for (name, id) in [("m", "%".repeat(128)), (&*"m".repeat(63), "e".repeat(128))] {
        let event = Event::new(
            EventId::new(id).unwrap(),
            ModuleName::new(name).unwrap(),
            NodeName::new(name).unwrap(),
            Timestamp::UNIX_EPOCH,
            JsonText::new("1").unwrap(),
        );
        let error = PublishId::new(event.publish_id()).unwrap_err();
        assert!(matches!(error, PublishIdError::Length { .. }), "{error}");
    }
}

#[test]
fn a_failures_code_from_the_wire_is_a_code() {
    let mut headers = Headers::default();
    headers.set(names::SERVICE_ERROR_CODE, HeaderValue::new("X").unwrap());
    let body = serde_json::to_vec(&serde_json::json!({"error": {"code": format!("A\u{1b}[2J\n{}", "x".repeat(1000)), "message": "m"}})).unwrap();
    let failure = ToolFailure::decode(&headers, &body).unwrap();
    let legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    assert!(failure.code.len() <= 100 && failure.code.chars().all(legal), "{:?}", failure.code);
    assert_eq!(failure.message, "m");
}

#[test]
fn no_list_gives_a_module_what_the_controller_alone_calls() {
    let grants = ModuleGrants {
        calls: vec![("db".parse().unwrap(), "provision_grant".parse().unwrap())],
        tools: vec!["provision_withdraw".parse().unwrap()],
        ..ModuleGrants::default()
    };
    let permissions =
        Permissions::of_module(&"n1".parse().unwrap(), &"mail".parse().unwrap(), &grants).unwrap();
    assert!(!permissions.publish.permits(&Subject::new("mesh.tools.db.provision_grant").unwrap()));
    let filter = Filter::new("mesh.tools.mail.provision_withdraw").unwrap();
    assert!(
        !permissions.subscribe.permits_filter(&filter, Some(&mesh_core::port::QueueGroup::serve()))
    );
}

#[test]
fn a_header_of_any_name_that_travels_is_passed_on() {
    let event = event(JsonText::new("1").unwrap(), "e");
    let headers = event.headers();
    for odd in [("x-a/b", "1"), ("x-(a)", "1"), ("a@b", "1")] {
        let pairs = headers.iter().map(|(n, v)| (&**n, &**v)).chain([odd]);
        let read = Event::decode(pairs, event.data().as_bytes().clone()).unwrap();
        assert_eq!(read.extra().iter().collect::<Vec<_>>(), [odd]);
    }
}

#[test]
fn a_null_path_is_no_path_when_profiles_are_told_apart() {
    let reply = br#"{"correlationId":"c","ok":true,"toPath":null,"body":1}"#;
    assert!(matches!(decode(reply, DEFAULT_MAX_BYTES), Ok(Decoded::LegacyReply(_))));
}

#[test]
fn many_headers_are_checked_in_time_for_their_number() {
    let headers: Headers = (0..30_000)
        .map(|n| (HeaderName::new(format!("h{n}")).unwrap(), HeaderValue::from(n)))
        .collect();
    let message = Message::new(Subject::new("a").unwrap(), "").with_headers(headers);
    let limits = Limits { max_header_bytes: usize::MAX, ..Limits::default() };
    // Not timed: work that grows with the square of the number is felt here.
    assert!(message.check(&limits).is_ok());
}

#[test]
fn a_host_that_resolvers_read_as_a_number_is_no_name() {
    for text in ["0x7f000001", "127.0x1", "0X7F.1", "a.0x"] {
        assert!(Host::new(text).is_err(), "{text}");
    }
    for text in ["0x7g", "a0x1", "0x1.example"] {
        assert!(Host::new(text).is_ok(), "{text}");
    }
}
