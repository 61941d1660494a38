mod props;

use super::*;
use crate::json::RawJson;
use crate::name::{NameProblem, RealmName};

fn realm_name(text: &str) -> RealmName {
    RealmName::new(text).unwrap()
}

#[test]
fn mxesc1_keeps_what_it_should_and_refuses_the_rest() {
    use escape::{EscapeError, decode, decode_canonical, encode};
    assert_eq!(encode("AZaz09-_~"), "AZaz09-_~");
    assert_eq!(encode("a.b/é*"), "a%2Eb%2F%C3%A9%2A");
    for (text, decoded) in [("a%2eb", "a.b"), ("a.b", "a.b"), ("%41", "A"), ("é", "é")] {
        assert_eq!(decode(text).unwrap(), decoded);
        assert!(decode_canonical(text).is_err());
    }
    assert_eq!(decode(""), Err(EscapeError::Empty));
    for (text, offset) in [("%", 0), ("a%2", 1), ("a%2g", 1), ("ab%%41", 2), ("%+1", 0)] {
        assert_eq!(decode(text), Err(EscapeError::BadEscape { offset }), "{text}");
    }
    for (text, offset) in [("%ff", 0), ("a%C3", 1), ("%41%C3%A9%80x", 9)] {
        assert_eq!(decode(text), Err(EscapeError::NotUtf8 { offset }), "{text}");
    }
    for (text, offset) in [("a%2eb", 3), ("a.b", 1), ("ab%41", 2)] {
        assert_eq!(decode_canonical(text), Err(EscapeError::NotCanonical { offset }), "{text}");
    }
}

#[test]
fn a_topic_is_read_and_written() {
    let reply = ReplyId([0xab; 16]);
    let path: MxPath<'static> = "x/a.b.accepts.m".parse().unwrap();
    let dotted = realm_name("acme.com");
    let id = "abababababababababababababababab";
    for (text, topic) in [
        (
            "public.ingress.acme%2Ecom".to_owned(),
            Topic::Mailbox(MailboxKind::Legacy, dotted.clone()),
        ),
        (
            "public.ingress.acme.com".to_owned(),
            Topic::Mailbox(MailboxKind::LegacyRaw, dotted.clone()),
        ),
        ("public.ingress.acme".to_owned(), Topic::Mailbox(MailboxKind::Legacy, realm_name("acme"))),
        ("mx/in/1/acme.com/00".to_owned(), Topic::Mailbox(MailboxKind::default(), dotted.clone())),
        (
            "mx/in/1/acme.com/fe".to_owned(),
            Topic::Mailbox(MailboxKind::Mx(Shard(0xfe)), dotted.clone()),
        ),
        ("mx/route/1/acme.com/00".to_owned(), Topic::RouteInbox(dotted.clone(), Shard::default())),
        ("mx/1/acme.com/x/a.b.accepts.m".to_owned(), Topic::Internal(dotted.clone(), path)),
        (format!("mx/1/acme.com/_reply.{id}"), Topic::InternalReply(dotted.clone(), reply)),
        (
            "mx/1/acme.com/_reply.accepts.m".to_owned(),
            Topic::Internal(dotted, "_reply.accepts.m".parse().unwrap()),
        ),
    ] {
        assert_eq!(text.parse(), Ok(topic.clone()), "{text}");
        assert_eq!(topic.subject().unwrap().as_str(), text);
    }
}

#[test]
fn a_text_that_is_no_topic_is_refused_with_a_reason() {
    for (text, message) in [
        ("mesh.events.a", "topic: not one of the federation's"),
        ("mx/1/acme", "topic: not one of the federation's"),
        ("mx/in/1/acme", "topic: not one of the federation's"),
        ("mx/in/1/acme/0", "topic: shard is not two lower-case hex digits"),
        ("mx/in/1/acme/0A", "topic: shard is not two lower-case hex digits"),
        ("mx/in/1/acme/00/x", "topic: shard is not two lower-case hex digits"),
        ("mx/in/1//00", "topic: realm name: nothing at offset 0"),
        ("mx/route/1/a*/00", "topic: realm name: character '*' at offset 1 is not allowed"),
        ("public.ingress.", "topic: realm name: nothing at offset 0"),
        ("public.ingress.a%2eb", "topic: mxesc1: not canonical at offset 3"),
        ("public.ingress.a%2Fb", "topic: realm name: character '/' at offset 1 is not allowed"),
        ("mx/1/acme/>", "topic: path: character '>' at offset 0 is not allowed"),
        ("mx/1/acme/a.m", "topic: path: no `accepts` or `emits` at offset 0"),
        ("mx/1/acme/_reply.x", "topic: reply id is not 32 lower-case hex digits"),
    ] {
        assert_eq!(text.parse::<Topic>().unwrap_err().to_string(), message, "{text}");
    }
    let long = format!("mx/1/acme/{}.accepts.m", "a".repeat(250));
    assert_eq!(long.parse::<Topic>(), Err(TopicError::TooLong { found: 270 }));
}

#[test]
fn an_internal_topic_that_does_not_fit_is_refused() {
    let path = MxPath::new(format!("{}.accepts.m", "a".repeat(238))).unwrap();
    assert_eq!(path.as_str().len(), 248);
    let topic = Topic::internal(&realm_name("r"), &path).unwrap();
    assert_eq!(topic.as_str().len(), 255);
    assert_eq!(Topic::internal(&realm_name("rr"), &path), Err(TopicError::TooLong { found: 256 }));
    assert_eq!(
        MxPath::new(format!("{}.accepts.m", "a".repeat(239))),
        Err(PathError::Text(NameProblem::TooLong { max: 248, found: 249 }))
    );
    let id = ReplyId([0; 16]);
    assert_eq!(Topic::internal_reply(&realm_name(&"r".repeat(210)), id).as_str().len(), 255);
}

#[test]
fn a_mount_may_hold_dots_where_a_subject_may() {
    for good in [".a/c.emits.m", "a./c.emits.m", "a.b/c.emits.m", "./c.emits.m", "-/-.emits.-"] {
        let path = MxPath::new(good).unwrap();
        assert!(Topic::internal(&realm_name("r"), &path).is_ok(), "{good}");
    }
    for (bad, offset) in [
        ("../c.emits.m", 1),
        ("a..b/c.emits.m", 2),
        ("a//c.emits.m", 2),
        ("/c.emits.m", 0),
        ("c..emits.m", 2),
        (".c.emits.m", 0),
        ("c.emits.", 8),
        ("a/", 2),
        ("", 0),
    ] {
        let problem = NameProblem::Empty { offset };
        assert_eq!(MxPath::new(bad), Err(PathError::Text(problem)), "{bad}");
    }
}

#[test]
fn a_principals_key_is_what_the_protocol_says() {
    for (principal, key) in [
        (r#""ada""#, Some("ada")),
        (r#""a|b%""#, Some("a|b%")),
        (r#""""#, None),
        (
            r#"{"iss":"https://id.example","sub":"ada|x"}"#,
            Some("https%3A%2F%2Fid%2Eexample|ada%7Cx"),
        ),
        (r#"{"sub":"ada","iss":"i","more":1}"#, Some("i|ada")),
        (r#"{"iss":"i"}"#, None),
        (r#"{"iss":"i","sub":7}"#, None),
        (r#"{"iss":"","sub":"s"}"#, None),
        (r#"{"iss":"i","sub":"s","sub":"t"}"#, None),
        ("7", None),
        ("[]", None),
    ] {
        let principal = RawJson::new(principal).unwrap();
        assert_eq!(principal_key(&principal).as_deref(), key);
    }
}

#[test]
fn names_on_the_wire_are_pinned() {
    let codes: Vec<_> = EdgeCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(
        codes,
        [
            "MX.EDGE.RATE_LIMITED",
            "MX.EDGE.POLICY_DENIED",
            "MX.EDGE.TIMEOUT",
            "MX.EDGE.HANDLER_ERROR",
            "MX.EDGE.BAD_REQUEST"
        ]
    );
    for profile in Profile::ALL {
        assert_eq!(Profile::from_name(profile.name()), Some(*profile));
    }
    assert_eq!(Profile::from_name("matrix3"), None);
}

#[test]
fn a_refused_topic_is_told_where_it_is_wrong() {
    for (text, offset) in [
        ("mesh.events.mail.sent", 0),
        ("mx/1/acme.com", 13),
        ("mx/in/1/a*b/00", 9),
        ("mx/in/1/acme.com/0", 17),
        ("mx/route/1/acme.com/AB", 20),
        ("mx/1/acme.com/x/a.b.c", 18),
        ("mx/1/acme.com/_reply.00", 21),
        ("public.ingress.acme%2ecom", 21),
        ("public.ingress.a%zz", 16),
        ("public.ingress.", 15),
    ] {
        let error = text.parse::<Topic>().unwrap_err();
        assert_eq!(error.offset_in(text), offset, "{text}: {error}");
    }
    let long = format!("mx/1/r/{}", "a".repeat(300));
    assert_eq!(long.parse::<Topic>().unwrap_err().offset_in(&long), 255);
}
