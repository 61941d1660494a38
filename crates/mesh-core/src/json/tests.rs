use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;

use super::*;

fn refused(text: impl Into<Bytes>) -> (JsonProblem, usize) {
    let error = JsonText::new(text).unwrap_err();
    (error.problem, error.offset)
}

fn duplicate(text: &str) -> Option<usize> {
    match Fields::parse(text.as_bytes()) {
        Ok(_) => None,
        Err(error) => {
            assert_eq!(error.problem, JsonProblem::DuplicateKey);
            Some(error.offset)
        }
    }
}

#[test]
fn what_two_readers_could_see_differently_is_refused_with_its_offset() {
    use JsonProblem::*;
    assert_eq!(refused("\u{feff}{}"), (ByteOrderMark, 0));
    assert_eq!(refused("{} x"), (Trailing, 3));
    assert_eq!(refused("{}\n\n  {}"), (Trailing, 6));
    assert_eq!(refused(r#"{"a":"\ud800"}"#), (LoneSurrogate, 6));
    assert_eq!(refused(r#"{"a":"\udc00\ud800"}"#), (LoneSurrogate, 6));
    assert_eq!(refused(r#"["\\\ud83d\u0041"]"#), (LoneSurrogate, 4));
    assert_eq!(refused(b"[\"\xff\"]".to_vec()), (Utf8, 2));
    assert_eq!(refused("[NaN]"), (Syntax, 1));
    assert_eq!(refused("{\n \"a\" 1}"), (Syntax, 7));
    assert_eq!(refused(""), (Truncated, 0));
    assert_eq!(refused("[1"), (Truncated, 1));
    assert!(JsonText::new(r#""\ud83d\ude00 \\ud800""#).is_ok());
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(JsonText::new(nested(MAX_DEPTH)).is_ok());
    assert_eq!(refused(nested(MAX_DEPTH + 1)), (JsonProblem::TooDeep, 128));
    assert_eq!(refused("[".repeat(1_000_000)).0, JsonProblem::Truncated);
    assert!(JsonText::new(format!("\"{}\"", "[".repeat(500))).is_ok());
}

#[test]
fn a_key_twice_is_refused_however_it_is_spelt() {
    assert_eq!(duplicate(r#"{"a":1,"b":2}"#), None);
    assert_eq!(duplicate(r#"{"a":1,"a":2}"#), Some(11));
    assert_eq!(duplicate(r#"{"a":1,"\u0061":2}"#), Some(16));
    assert_eq!(duplicate(r#"{"b":1,"a":2,"b":3,"a":4}"#), Some(17));
    assert!(Fields::parse(b"[]").is_err());
}

#[test]
fn a_number_json_cannot_hold_is_an_error_and_not_null() {
    #[derive(Serialize)]
    enum Reading {
        Missing,
        Of(f64),
        At { place: (i32, f32) },
    }
    let one = |value: Reading| {
        JsonText::from_value(&BTreeMap::from([("x", vec![Some(value)])])).map_err(|e| e.problem)
    };
    assert_eq!(
        one(Reading::Missing).unwrap().as_str(),
        r#"{"x":["Missing"]}"#
    );
    assert_eq!(
        one(Reading::Of(1.5)).unwrap().as_str(),
        r#"{"x":[{"Of":1.5}]}"#
    );
    assert_eq!(one(Reading::Of(f64::NAN)), Err(JsonProblem::NotFinite));
    let infinite = Reading::At {
        place: (1, f32::INFINITY),
    };
    assert_eq!(one(infinite), Err(JsonProblem::NotFinite));
    let odd_keys = BTreeMap::from([((1, 2), 3)]);
    assert_eq!(
        JsonText::from_value(&odd_keys).unwrap_err().problem,
        JsonProblem::Unserialisable
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_bytes_panic_and_accepted_ones_are_what_serde_json_reads(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..24),
            "[\\[\\]{}:,\"\\\\u0-9dDeE.ntrfalsue -]{0,24}".prop_map(String::into_bytes),
        ],
    ) {
        if JsonText::new(bytes.clone()).is_ok() {
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok()
                // The one difference: a number beyond f64's range, kept as text here.
                || bytes.iter().any(|b| matches!(b, b'e' | b'E')));
        }
        let _ = Fields::parse(&bytes);
    }
}
