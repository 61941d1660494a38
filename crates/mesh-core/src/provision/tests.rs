use proptest::prelude::*;

use super::*;
use crate::name::NodeName;

const NEW: &str =
    r#"{"provision":"db","consumer":{"node":"n1","module":"mail"},"contributed":{"a":1.50}}"#;

fn refused(body: &str) -> String {
    GrantRequest::decode(body.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_grant_reads_back_with_its_contribution_untouched() {
    let request = GrantRequest::decode(NEW.as_bytes()).unwrap();
    assert_eq!(request.contributed().as_str(), r#"{"a":1.50}"#);
    assert_eq!(request.encode().as_str(), NEW);
    let withdrawal = WithdrawRequest::new(request.key().clone());
    let text = withdrawal.encode();
    assert_eq!(text.as_str(), r#"{"provision":"db","consumer":{"node":"n1","module":"mail"}}"#);
    assert_eq!(WithdrawRequest::decode(text.as_bytes()).unwrap(), withdrawal);
}

#[test]
fn a_bad_request_names_the_field_and_the_offset() {
    assert_eq!(refused("[]"), "provision: body: JSON: expected an object at offset 0");
    assert_eq!(refused("{}"), "provision: consumer: missing");
    assert_eq!(
        refused(r#"{"consumer":"mail"}"#),
        "provision: consumer: expected an object {node, module} at offset 12"
    );
    assert_eq!(refused(r#"{"consumer":{"node":"n1"}}"#), "provision: module: missing");
    assert_eq!(
        refused(r#"{"consumer":{"node":5}}"#),
        "provision: node: expected a string at offset 20"
    );
    assert_eq!(
        refused(r#"{"consumer":{"node":"n1","node":"n2"}}"#),
        "provision: body: JSON: duplicate key at offset 25"
    );
    assert_eq!(
        refused(r#"{"provision":"d.b","consumer":{"node":"n1","module":"m"}}"#),
        "provision: provision: provision name: character '.' at offset 1 is not allowed"
    );
    assert_eq!(
        refused(&NEW.replace("{\"a\":1.50}", "[]")),
        "provision: contributed: JSON: expected an object at offset 0"
    );
}

#[test]
fn the_older_shapes_name_the_same_consumer_and_are_never_written() {
    let n1: NodeName = "n1".parse().unwrap();
    let expected = GrantRequest::decode(NEW.as_bytes()).unwrap();
    let object = r#""consumer":{"node":"n1","module":"mail"}"#;
    for shape in [
        object,
        r#""consumer":"mail""#,
        r#""consumer":"mail","node":"n1""#,
        r#""consumer":"n1","from":"mail""#,
        r#""node":"n1","from":"mail""#,
    ] {
        let body = NEW.replace(object, shape);
        let request = GrantRequest::decode_legacy(body.as_bytes(), Some(&n1)).unwrap();
        assert_eq!(request, expected, "{shape}");
        assert_eq!(request.encode().as_str(), NEW);
        let withdrawal = WithdrawRequest::decode_legacy(body.as_bytes(), Some(&n1)).unwrap();
        assert_eq!(withdrawal.key(), expected.key());
    }
    let alone = NEW.replace(object, r#""consumer":"mail""#);
    let error = GrantRequest::decode_legacy(alone.as_bytes(), None).unwrap_err();
    assert_eq!(error.to_string(), "provision: node: missing", "a node is never guessed");
}

#[test]
fn an_answer_has_exactly_the_promised_fields() {
    let answer = br#"{"credential":{"user":"u","password":"s3cr3t"},"x":1}"#;
    let granted = Granted::decode(answer, &["password", "user"]).unwrap();
    assert_eq!(format!("{granted:?}"), r#"{"password": [redacted], "user": [redacted]}"#);
    let text = granted.encode();
    assert_eq!(text.as_str(), r#"{"credential":{"password":"s3cr3t","user":"u"}}"#);
    let refused = |promised: &[&str]| Granted::decode(answer, promised).unwrap_err().to_string();
    assert_eq!(refused(&["user"]), "provision: credential.password: not among the promised fields");
    assert_eq!(refused(&["user", "password", "url"]), "provision: credential.url: missing");
    let error = Granted::decode(br#"{"credential":"s3cr3t"}"#, &["user"]).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("s3cr3t"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_body_panics(body in "(\\{\"(consumer|provision|from|credential)\":)?[{}\":,a-z0-9]{0,32}") {
        let _ = GrantRequest::decode(body.as_bytes());
        let _ = GrantRequest::decode_legacy(body.as_bytes(), None);
        let _ = Granted::decode(body.as_bytes(), &["a"]);
    }
}
