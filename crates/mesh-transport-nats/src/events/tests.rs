use std::borrow::Cow;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

/// Go's `strconv.Quote`, which is `%q`.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\x0b' => quoted.push_str("\\v"),
            '\x0c' => quoted.push_str("\\f"),
            '\r' => quoted.push_str("\\r"),
            ..='\x1f' | '\x7f' => write!(quoted, "\\x{:02x}", u32::from(char)).unwrap(),
            ' '..='~' => quoted.push(char),
            char if char.is_alphanumeric() => quoted.push(char),
            ..='\u{ffff}' => write!(quoted, "\\u{:04x}", u32::from(char)).unwrap(),
            _ => write!(quoted, "\\U{:08x}", u32::from(char)).unwrap(),
        }
    }
    quoted + "\""
}

fn subscription<'a>(subject: &'a str, queue: Option<&'a str>, revoked: bool) -> Notice<'a> {
    let (subject, queue) = (subject.into(), queue.map(Cow::from));
    Notice::Denied(Denial::Subscription { subject, queue, revoked })
}

#[test]
fn denials_name_what_was_denied() {
    for (text, notice) in [
        (
            r#"Permissions Violation for Publish to "mesh.tools.vault.open""#,
            Notice::Denied(Denial::Publish("mesh.tools.vault.open".into())),
        ),
        (
            r#"Permissions Violation for Publish with Reply of "$JS.ACK.x""#,
            Notice::Denied(Denial::Reply("$JS.ACK.x".into())),
        ),
        (r#"Permissions Violation for Subscription to "a.>""#, subscription("a.>", None, false)),
        (
            r#"Permissions Violation for Subscription to "a.*" using queue "serve""#,
            subscription("a.*", Some("serve"), false),
        ),
        // A reload took the right away.
        (
            r#"Permissions Violation for Subscription to "a" (sid "3")"#,
            subscription("a", None, true),
        ),
        (
            r#"Permissions Violation for Subscription to "a" using queue "q" (sid "3")"#,
            subscription("a", Some("q"), true),
        ),
        (
            r#"Permissions Violation for Subscription to "a.b.c", too many tokens"#,
            subscription("a.b.c", None, false),
        ),
        (
            r#"permissions violation for publish to "A.b""#,
            Notice::Denied(Denial::Publish("A.b".into())),
        ),
    ] {
        assert_eq!(Notice::parse(text), notice, "{text}");
    }
}

#[test]
fn a_subject_cannot_pretend_that_there_is_a_queue() {
    let subject = r#"a" using queue "b"#;
    let text = format!("Permissions Violation for Subscription to {}", quote(subject));
    assert_eq!(Notice::parse(&text), subscription(subject, None, false));
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let text = r#"Permissions Violation for Publish to "a.\xff\u00e9\U0001f600""#;
    let denial = Notice::Denied(Denial::Publish("a.\u{fffd}é😀".into()));
    assert_eq!(Notice::parse(text), denial);
}

#[test]
fn a_subject_without_escapes_is_not_copied() {
    let text = String::from(r#"Permissions Violation for Publish to "a.b""#);
    let Some(Denial::Publish(Cow::Borrowed("a.b"))) = Denial::parse(&text) else {
        panic!("copied");
    };
}

#[test]
fn what_ends_a_connection_is_recognised() {
    for (text, notice) in [
        ("Invalid Subject", Notice::InvalidSubject),
        ("Invalid Publish Subject", Notice::InvalidSubject),
        ("Maximum Payload Violation", Notice::MaximumPayload),
        ("maximum subscriptions exceeded", Notice::MaximumSubscriptions),
        ("maximum connections exceeded", Notice::MaximumConnections),
        ("maximum account active connections exceeded", Notice::MaximumConnections),
        ("User Authentication Revoked", Notice::Revoked),
        ("User Authentication Expired", Notice::Expired),
        ("Account Authentication Expired", Notice::Expired),
        ("Authentication Timeout", Notice::TooLate),
        ("Authorization Violation", Notice::Unauthorised),
        ("Stale Connection", Notice::Stale),
    ] {
        assert_eq!(Notice::parse(text), notice, "{text}");
    }
}

#[test]
fn anything_else_is_kept_as_it_is() {
    for text in [
        "",
        "Permissions Violation for Publish to a",
        r#"Permissions Violation for Publish to "a"#,
        r#"Permissions Violation for Publish to "a\q""#,
        r#"Permissions Violation for Publish to "a\x4""#,
        r#"Permissions Violation for Publish to "a\u12é4""#,
        r#"Permissions Violation for Publish to "a\ud800""#,
        r#"Permissions Violation for Eating "a""#,
        "Slow Consumer",
        "é",
    ] {
        assert_eq!(Notice::parse(text), Notice::Other(text), "{text}");
    }
}

proptest! {
    #[test]
    fn every_subject_comes_back_as_it_was_sent(subject in any::<String>(), queue in any::<String>()) {
        let text = format!("Permissions Violation for Publish to {}", quote(&subject));
        prop_assert_eq!(Denial::parse(&text), Some(Denial::Publish(subject.clone().into())));
        let text = format!("Permissions Violation for Publish with Reply of {}", quote(&subject));
        prop_assert_eq!(Denial::parse(&text), Some(Denial::Reply(subject.clone().into())));
        let text = format!(
            "Permissions Violation for Subscription to {} using queue {}",
            quote(&subject),
            quote(&queue),
        );
        prop_assert_eq!(Notice::parse(&text), subscription(&subject, Some(&queue), false));
    }

    #[test]
    fn no_text_panics(text in r#"(Permissions Violation for (Publish|Subscription) to )?["\\xuUa-f0-9é ]*"#) {
        let _ = Notice::parse(&text);
    }
}
