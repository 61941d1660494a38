use proptest::prelude::*;

use super::props::any_envelope;
use super::*;

fn passed_on(text: &str, ttl: u64) -> String {
    let passage =
        Passage::read(text.as_bytes(), MAX).unwrap_or_else(|error| panic!("{error}: {text}"));
    String::from_utf8(passage.with_ttl(ttl)).unwrap()
}

fn refused(text: &str) -> String {
    Passage::read(text.as_bytes(), MAX).unwrap_err().to_string()
}

#[test]
fn a_ttl_is_changed_where_it_stands_and_nothing_else_is() {
    let odd =
        " ,\"\\u0074tl\" : 12 , \"_mx\":{\"a\":1}, \"x\":[1.0, 1e400],\"body\":{ \"ttl\": 12 } ";
    let text = format!("  {} ", command(odd));
    assert_eq!(passed_on(&text, 11), text.replacen("12 ,", "11 ,", 1));
}

#[test]
fn a_missing_ttl_is_put_first() {
    let text = command("");
    assert_eq!(passed_on(&text, 7), text.replacen('{', "{\"ttl\":7,", 1));
    let spaced = format!(" {text}").replacen('{', "{ ", 1);
    assert_eq!(passed_on(&spaced, 7), spaced.replacen('{', "{\"ttl\":7,", 1));
}

#[test]
fn a_null_ttl_counts_as_none_and_is_written_over() {
    let text = command(r#","ttl":null"#);
    assert_eq!(Passage::read(text.as_bytes(), MAX).unwrap().ttl(), None);
    assert_eq!(passed_on(&text, 7), text.replace("null", "7"));
}

#[test]
fn odd_ttls_are_refused() {
    for ttl in ["-1", "1.5", "1e1", "\"3\"", "true", "[3]", "18446744073709551616"] {
        let text = command(&format!(",\"ttl\":{ttl}"));
        assert!(refused(&text).starts_with("ttl at offset"), "{text}: {}", refused(&text));
    }
    let twice = command(r#","ttl":3,"ttl":3"#);
    assert!(refused(&twice).contains("duplicate key"), "{}", refused(&twice));
}

#[test]
fn what_is_not_mxenv1_is_refused() {
    let legacy = r#"{"fromRealm":"shop","toPath":"a.accepts.m","correlationId":"c"}"#;
    for text in [legacy, r#"{"correlationId":"c","ok":true}"#, "{}", "[]", "{", ""] {
        let error = Passage::read(text.as_bytes(), MAX).unwrap_err();
        assert_eq!(error.to_string(), refusal_or_shape(text));
    }
}

/// What the decoder of all profiles says, or that the shape is another.
fn refusal_or_shape(text: &str) -> String {
    match decode(text.as_bytes(), MAX) {
        Err(error) => error.to_string(),
        Ok(_) => refusal("{}"),
    }
}

proptest! {
    #[test]
    fn an_envelope_passed_on_differs_in_its_ttl_alone(envelope in any_envelope(), ttl: u64) {
        let bytes = envelope.encode().unwrap();
        let passage = Passage::read(&bytes, MAX).unwrap();
        prop_assert_eq!(passage.envelope(), &envelope);
        let passed_on = passage.with_ttl(ttl);
        let mut expected = envelope.clone();
        expected.ttl = Some(ttl);
        prop_assert_eq!(decode(&passed_on, MAX).unwrap(), Decoded::MxEnv(expected));
        let again = Passage::read(&passed_on, MAX).unwrap();
        prop_assert_eq!(again.with_ttl(ttl), passed_on.clone());
        if let Some(before) = envelope.ttl {
            prop_assert_eq!(again.with_ttl(before), bytes);
        }
    }
}
