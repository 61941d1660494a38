use mesh_core::subject::{Filter, MAX_SUBJECT_BYTES, Subject};
use proptest::prelude::*;
use proptest::sample::select;

/// A token of any characters that are legal, with those that mean something elsewhere: `/`, `#`, a
/// star that is not alone.
fn token() -> impl Strategy<Value = String> {
    let wide = "[^\\s\\p{C}.]{1,12}";
    let odd = prop_oneof![Just("a*"), Just(">b"), Just("#"), Just("a/b"), Just("$JS")];
    let literal = |text: &String| text != "*" && text != ">";
    prop_oneof![3 => "[a-z]{1,6}", 2 => wide, 1 => odd.prop_map(str::to_owned)]
        .prop_filter("a wildcard", literal)
}

fn joined(mut tokens: Vec<String>) -> String {
    while tokens.len() > 1 && tokens.join(".").len() > MAX_SUBJECT_BYTES {
        tokens.pop();
    }
    tokens.join(".")
}

/// Any subject.
pub fn subject() -> impl Strategy<Value = Subject> {
    let tokens = prop::collection::vec(token(), 1..=8);
    tokens.prop_filter_map("too long", |tokens| Subject::new(joined(tokens)).ok())
}

/// A subject of one to four tokens out of `a`, `b`, `c`.
pub fn few_subjects() -> impl Strategy<Value = Subject> {
    let tokens = prop::collection::vec(select(&["a", "b", "c"][..]), 1..=4);
    tokens.prop_filter_map("never", |tokens| Subject::new(tokens.join(".")).ok())
}

/// Some tokens as a filter, with a tail if asked for.
fn filter_of(mut tokens: Vec<String>, tail: bool) -> Option<Filter> {
    if tail {
        tokens.truncate(7);
    }
    let mut text = joined(tokens);
    if tail && text.len() + 2 <= MAX_SUBJECT_BYTES {
        text.push_str(".>");
    }
    Filter::new(text).ok()
}

/// Any filter, with wildcards or without; now and then everything.
pub fn filter() -> impl Strategy<Value = Filter> {
    let part = prop_oneof![3 => token(), 1 => Just("*".to_owned())];
    let tokens = prop::collection::vec(part, 1..=8);
    let some = (tokens, any::<bool>())
        .prop_filter_map("too long", |(tokens, tail)| filter_of(tokens, tail));
    let all = Just(">").prop_filter_map("never", |text| Filter::new(text).ok());
    prop_oneof![15 => some, 1 => all]
}

/// A filter of one to four tokens out of `a`, `b`, `c`, `*`, perhaps with a tail: one that often
/// matches one of [`few_subjects`].
pub fn few_filters() -> impl Strategy<Value = Filter> {
    let part = select(&["a", "b", "c", "*", "*"][..]).prop_map(str::to_owned);
    let tokens = prop::collection::vec(part, 1..=4);
    (tokens, prop::bool::weighted(0.3))
        .prop_filter_map("never", |(tokens, tail)| filter_of(tokens, tail))
}

/// A subject and a filter that matches it.
pub fn filter_around() -> impl Strategy<Value = (Subject, Filter)> {
    let stars = prop::collection::vec(prop::bool::weighted(0.3), 8);
    let tail = proptest::option::of(0..8_usize);
    (subject(), stars, tail).prop_filter_map("never", |(subject, stars, tail)| {
        let mut tokens: Vec<&str> = subject.tokens().collect();
        for (token, _) in tokens.iter_mut().zip(stars).filter(|(_, star)| *star) {
            *token = "*";
        }
        if let Some(tail) = tail.filter(|tail| *tail < tokens.len()) {
            tokens.truncate(tail);
            tokens.push(">");
        }
        let filter = Filter::new(tokens.join(".")).ok()?;
        Some((subject, filter))
    })
}
