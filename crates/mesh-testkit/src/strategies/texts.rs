use std::ops::RangeInclusive;

use mesh_core::json::{JsonText, MAX_DEPTH, RawJson};
use mesh_core::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;

/// Any text of so many characters: mostly letters, with what means something to JSON, URIs, headers
/// and terminals, and any character at all.
pub fn text(length: RangeInclusive<usize>) -> impl Strategy<Value = String> {
    let odd = &['"', '\\', '/', '%', '\n', '\r', '\0', '\u{1f}', '\u{7f}'][..];
    let wide = &[' ', 'é', '\u{a0}', '\u{2028}', '\u{fffd}', '😀', '\u{10ffff}'][..];
    let any = prop_oneof![
        12 => prop::char::range('a', 'z'),
        1 => select(odd),
        1 => select(wide),
        1 => any::<char>(),
    ];
    prop::collection::vec(any, length).prop_map(String::from_iter).boxed()
}

/// A text that is not empty and holds no control character.
pub(super) fn line(most: usize) -> impl Strategy<Value = String> {
    let readable = |text: String| {
        let kept: String = text.chars().filter(|c| !c.is_control()).collect();
        if kept.trim().is_empty() { "a".to_owned() } else { kept }
    };
    text(1..=most).prop_map(readable)
}

/// Any moment that RFC 3339 can write.
pub fn timestamp() -> impl Strategy<Value = Timestamp> {
    let all = Timestamp::MIN.as_millis()..=Timestamp::MAX.as_millis();
    let usual = 1_600_000_000_000..1_900_000_000_000_i64;
    prop_oneof![1 => all, 3 => usual].prop_map(Timestamp::from_millis)
}

/// A number as JSON writes it, small, or larger and finer than any machine's.
fn number() -> impl Strategy<Value = String> {
    let odd = select(&["-0", "1e400", "-1E-400", "0.10", "1.50e+2", "18446744073709551616"][..]);
    let digits = prop::collection::vec(0..10_u8, 1..40);
    let big = digits.prop_map(|digits| {
        let digits = digits.iter().map(u8::to_string);
        format!("1{}", String::from_iter(digits))
    });
    prop_oneof![
        3 => any::<i16>().prop_map(|number| number.to_string()),
        1 => odd.prop_map(str::to_owned),
        1 => big,
    ]
}

/// A string as JSON writes it, plain or in escapes.
fn string() -> impl Strategy<Value = String> {
    let written = |(text, escaped): (String, bool)| {
        if !escaped {
            return RawJson::string(&text).to_string();
        }
        let units = text.encode_utf16();
        let escapes = units.map(|unit| format!("\\u{unit:04X}"));
        format!("\"{}\"", String::from_iter(escapes))
    };
    (text(0..=8), prop::bool::weighted(0.2)).prop_map(written)
}

/// The text of any JSON value of a few levels, with or without white space, keys in any order and
/// perhaps twice.
fn value() -> impl Strategy<Value = String> {
    let word = select(&["null", "true", "false"][..]).prop_map(str::to_owned);
    let leaf = prop_oneof![1 => word, 2 => number(), 2 => string()];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let space = || select(&["", "", " ", "\n\t"][..]);
        let items = prop::collection::vec(inner.clone(), 0..4);
        let array = (items, space()).prop_map(|(items, space)| {
            let items = items.join(&format!(",{space}"));
            format!("[{space}{items}]")
        });
        let member = (string(), inner, space());
        let member = member.prop_map(|(key, value, space)| format!("{key}{space}:{space}{value}"));
        let members = prop::collection::vec(member, 0..4);
        let object = (members, space()).prop_map(|(members, space)| {
            let members = members.join(&format!("{space},"));
            format!("{{{members}{space}}}")
        });
        prop_oneof![array, object]
    })
}

/// Any JSON value: numbers that no machine holds, keys in any order, and now and then so deep that
/// an envelope, or an event in structured mode, has room for no more.
pub fn raw_json() -> impl Strategy<Value = RawJson<'static>> {
    let deep = (1..MAX_DEPTH, any::<bool>()).prop_map(|(depth, objects)| nested(depth, objects));
    prop_oneof![19 => value(), 1 => deep]
        .prop_filter_map("never", |text| RawJson::new(text).ok())
        .boxed()
}

/// A JSON value of a few levels, for what stands deep inside another.
pub(super) fn shallow_json() -> impl Strategy<Value = RawJson<'static>> {
    value().prop_filter_map("never", |text| RawJson::new(text).ok()).boxed()
}

/// A JSON value of exactly this depth, and of nothing else.
fn nested(depth: usize, objects: bool) -> String {
    let (open, close) = if objects { ("{\"a\":", "}") } else { ("[", "]") };
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

/// A JSON object, no key twice: what a tool takes, a provider is given, a consumer contributes.
pub fn json_object() -> impl Strategy<Value = JsonText> {
    let members = prop::collection::btree_map(text(0..=6), value(), 0..=4);
    members
        .prop_filter_map("never", |members| {
            let members = members.iter();
            let members = members.map(|(key, value)| format!("{}:{value}", RawJson::string(key)));
            let members: Vec<String> = members.collect();
            JsonText::new(format!("{{{}}}", members.join(","))).ok()
        })
        .boxed()
}

/// Any JSON value as the body of a message, perhaps with white space around it.
pub fn json_text() -> impl Strategy<Value = JsonText> {
    let space = || select(&["", "", "", " ", "\r\n"][..]);
    (space(), raw_json(), space()).prop_filter_map("never", |(before, value, after)| {
        JsonText::new(format!("{before}{value}{after}")).ok()
    })
}
