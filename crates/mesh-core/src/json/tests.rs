use proptest::prelude::*;
use serde::Serialize;

use super::*;

fn refusal(text: &str) -> (JsonProblem, usize) {
    let error = RawJson::new(text).unwrap_err();
    (error.problem, error.offset)
}

#[test]
fn a_value_keeps_its_exact_text() {
    for text in [
        "null",
        "true",
        "false",
        "-0",
        "1e400",
        "123456789012345678901234567890",
        "0.1E-7",
        r#""a\u00e9\ud83d\ude00\/\b""#,
        "[]",
        "{}",
        "[ 1 , [ ] , { } ]",
        r#"{"b": 1, "a": {"c": [true, null]}, "b": 2}"#,
    ] {
        assert_eq!(RawJson::new(text).unwrap().as_str(), text);
    }
    assert_eq!(RawJson::new(" \t\r\n[1] ").unwrap().as_str(), "[1]");
    assert_eq!(RawJson::new(" 7 ".to_owned()).unwrap().as_str(), "7");
}

#[test]
fn a_refusal_says_what_and_where() {
    use JsonProblem::*;
    for (text, problem, offset) in [
        ("", UnexpectedEnd, 0),
        ("  ", UnexpectedEnd, 2),
        ("[1,", UnexpectedEnd, 3),
        ("[1,]", Unexpected, 3),
        ("{\"a\":1,}", Unexpected, 7),
        ("{a:1}", Unexpected, 1),
        ("{\"a\" 1}", Unexpected, 5),
        ("[1}", Unexpected, 2),
        ("tru", Unexpected, 0),
        ("'a'", Unexpected, 0),
        ("1 2", TrailingText, 2),
        ("nullx", TrailingText, 4),
        ("\u{feff}1", ByteOrderMark, 0),
        ("01", BadNumber, 1),
        ("-", BadNumber, 1),
        ("1.", BadNumber, 2),
        ("1e+", BadNumber, 3),
        ("+1", Unexpected, 0),
        (".5", Unexpected, 0),
        ("[NaN]", NotFinite, 1),
        ("Infinity", NotFinite, 0),
        ("-Infinity", NotFinite, 0),
        ("-NaN", NotFinite, 0),
        ("\"a\nb\"", ControlCharacter, 2),
        ("\"abc", UnexpectedEnd, 4),
        (r#""\x""#, BadEscape, 1),
        (r#""\u12g4""#, BadEscape, 1),
        (r#""\u+123""#, BadEscape, 1),
        (r#""\"#, UnexpectedEnd, 2),
        (r#""\ud800""#, LoneSurrogate, 1),
        (r#""a\udc00""#, LoneSurrogate, 2),
        (r#""\ud800\u0041""#, LoneSurrogate, 1),
        (r#""\udc00\udc00""#, LoneSurrogate, 1),
        (r#""\ud800\udbff""#, LoneSurrogate, 1),
        (r#""\ud800\ud800\udc00""#, LoneSurrogate, 1),
    ] {
        assert_eq!(refusal(text), (problem, offset), "{text}");
    }
    let error = RawJson::from_slice(b"[\"\xff\"]", 99).unwrap_err();
    assert_eq!((error.problem, error.offset), (NotUtf8, 2));
    let error = RawJson::from_slice(b"[1, 2]", 5).unwrap_err();
    assert_eq!(error.problem, TooLarge { max: 5, found: 6 });
    assert_eq!(error.to_string(), "JSON: too large (6 bytes, at most 5) at offset 5");
}

#[test]
fn a_hundred_and_twenty_eight_containers_may_be_open_and_no_more() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(RawJson::new(nested(128)).is_ok());
        assert_eq!(refusal(&nested(129)), (JsonProblem::TooDeep, open.len() * 128));
        assert!(RawJson::new(format!("[{0},{0}]", nested(127))).is_ok());
    }
    assert_eq!(refusal(&"[".repeat(1_000_000)).0, JsonProblem::TooDeep);
}

#[test]
fn a_control_character_is_found_at_every_place_of_a_word() {
    for at in 0..20 {
        for bad in ["\u{0}", "\u{1f}", "\n"] {
            let text = format!("\"{}{bad}{}\"", "é".repeat(at / 2), "x".repeat(at));
            let offset = 1 + at / 2 * 2;
            assert_eq!(refusal(&text), (JsonProblem::ControlCharacter, offset));
        }
        let fine = format!("\"{}\u{7f}\u{80}\u{ff}\u{20}\"", "x".repeat(at));
        assert!(RawJson::new(fine).is_ok());
    }
}

#[test]
fn a_key_that_comes_twice_is_refused_however_it_is_escaped() {
    let read = |text: &'static str| {
        let mut scanner = Scanner::new(text.as_bytes(), 999).unwrap();
        Fields::<1>::read(&mut scanner, |key| (key == "to").then_some(0))
    };
    assert!(read(r#"{"to":1,"x":{"y":1,"y":2}}"#).is_ok());
    for (text, offset) in [
        (r#"{"to":1,"to":2}"#, 8),
        (r#"{"to":1,"t\u006f":2}"#, 8),
        (r#"{"x":1,"to":1, "\u0078":2}"#, 15),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!((error.problem, error.offset), (JsonProblem::DuplicateKey, offset), "{text}");
    }
}

#[test]
fn unknown_fields_are_bounded() {
    let object = |count: usize| {
        let members: Vec<_> = (0..count).map(|n| format!("\"x{n}\":{n}")).collect();
        format!("{{{}}}", members.join(","))
    };
    let count = |text: &str| {
        let mut scanner = Scanner::new(text.as_bytes(), 99_999).unwrap();
        Fields::<0>::read(&mut scanner, |_| None).map(|fields| fields.unknown.iter().count())
    };
    assert_eq!(count(&object(128)), Ok(128));
    assert_eq!(count(&object(129)).unwrap_err().problem, JsonProblem::TooManyFields);
}

#[test]
fn emitting_a_number_that_is_not_finite_is_an_error_and_not_null() {
    #[derive(Serialize)]
    struct Reading {
        value: f64,
        more: Vec<Option<f32>>,
    }
    let good = Reading { value: 1.5, more: vec![None, Some(2.0)] };
    assert_eq!(
        RawJson::from_serialize(&good).unwrap().as_str(),
        r#"{"value":1.5,"more":[null,2.0]}"#
    );
    for bad in [
        Reading { value: f64::NAN, more: vec![] },
        Reading { value: 0.0, more: vec![Some(f32::INFINITY)] },
    ] {
        assert!(matches!(RawJson::from_serialize(&bad), Err(EmitError::NotFinite)));
    }
    let map = std::collections::BTreeMap::from([("a", (1, f64::NEG_INFINITY))]);
    assert!(matches!(RawJson::from_serialize(&map), Err(EmitError::NotFinite)));
    let odd_keys = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert!(matches!(RawJson::from_serialize(&odd_keys), Err(EmitError::Serialize(_))));
}

#[test]
fn debug_shows_no_body() {
    let body = RawJson::new(r#"{"token": "s3cret"}"#).unwrap();
    assert_eq!(format!("{body:?}"), "RawJson(Object, 19 bytes)");
}

/// JSON-like text: mostly pieces that belong there, in any order.
fn nearly_json() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just(",".to_owned()),
        Just(":".to_owned()),
        Just("\"k\"".to_owned()),
        Just("\"\\u00e9\"".to_owned()),
        Just("\"\\ud83d\\ude00\"".to_owned()),
        Just(" ".to_owned()),
        "-?[0-9]{1,3}(\\.[0-9]{0,2})?([eE][+-]?[0-9]{0,2})?",
        "true|false|null|nul",
        "\"[ -~é\\n]{0,12}\"",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// A JSON value as `serde_json` writes it.
fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(|f| serde_json::json!(f)),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn accepts_what_serde_json_accepts(text in nearly_json()) {
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        prop_assert_eq!(RawJson::new(text.as_str()).is_ok(), theirs.is_ok(), "{}", text);
    }

    #[test]
    fn accepts_whatever_serde_json_writes(value in value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let raw = RawJson::new(text.as_str()).unwrap();
            prop_assert_eq!(raw.as_str(), &text);
        }
    }

    #[test]
    fn never_panics_and_points_inside_the_text(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Err(error) = RawJson::from_slice(&bytes, 60) {
            prop_assert!(error.offset <= bytes.len());
        }
    }

    #[test]
    fn a_string_comes_back_as_it_was(text in any::<String>()) {
        let token = RawJson::string(&text);
        prop_assert_eq!(token.as_string().unwrap(), &*text);
        prop_assert_eq!(&token.to::<String>().unwrap(), &text);
        let theirs = serde_json::to_string(&text).unwrap();
        let theirs = RawJson::new(theirs).unwrap();
        prop_assert_eq!(theirs.as_string().unwrap(), &*text);
    }
}

#[test]
fn a_text_stays_readable_inside_an_envelope() {
    use crate::json::JsonText;

    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(JsonText::new(nested(126)).is_ok());
    let error = JsonText::new(nested(127)).unwrap_err();
    assert_eq!((error.problem, error.offset), (JsonProblem::TooDeep, 126));
    let raw = RawJson::new(nested(126)).unwrap();
    assert!(raw.fits_inside(2) && !raw.fits_inside(3));
}
