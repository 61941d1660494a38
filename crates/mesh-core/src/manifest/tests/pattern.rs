use proptest::prelude::*;

use super::*;
use crate::name::{EventName, ModuleName};

#[test]
fn a_pattern_never_reaches_anything_but_events() {
    let filters = |text: &str| {
        let pattern = EventPattern::new(text).unwrap();
        let filters = pattern.filters().iter().map(|f| f.as_str().to_owned());
        filters.collect::<Vec<_>>()
    };
    assert_eq!(filters(">"), ["*.>"], "never `mesh.events.dead`");
    assert_eq!(filters("#"), ["*.>"]);
    assert_eq!(filters("*.>"), ["*.>"]);
    assert_eq!(filters("mail.*"), ["mail.*"]);
    assert_eq!(filters("mail.#"), ["mail.>"], "an event has a token after its module");
    assert_eq!(filters("mail.letter.#"), ["mail.letter", "mail.letter.>"]);
    assert_eq!(filters("*.*.#"), ["*.>"]);
    assert_eq!(filters("mail.*.#"), ["mail.>"]);
    assert_eq!(filters("*.#"), ["*.>"]);
    for text in [
        "", "*", "mail", "mail.", ".a", "mail.a*", "mail.a/b", "mail.é", "dead.x", "_.x", "#.a",
        "a.>.#",
    ] {
        assert!(EventPattern::new(text).is_err(), "{text}");
    }
    let long = ["abc"; 61].join(".");
    assert!(EventPattern::new(&long).is_ok());
    assert_eq!(EventPattern::new(&format!("{long}.a")), Err(PatternError::TooLong { found: 245 }));
}

#[test]
fn patterns_inside_others_are_left_out() {
    let all = ["mail.a", "mail.*", "ledger.a", "mail.>", "ledger.a"];
    let all: Vec<EventPattern> = all.iter().map(|text| text.parse().unwrap()).collect();
    let minimal = EventPattern::minimal_filters(&all);
    let minimal: Vec<&str> = minimal.iter().map(|filter| filter.as_str()).collect();
    assert_eq!(minimal, ["ledger.a", "mail.>"]);
    assert!(EventPattern::new("mail.a.#").unwrap().is_covered_by(&all));
    assert!(!EventPattern::new("ledger.a.#").unwrap().is_covered_by(&all));
}

/// An independent matcher of AMQP's grammar.
fn amqp(pattern: &[&str], key: &[&str]) -> bool {
    match pattern.split_first() {
        None => key.is_empty(),
        Some((&"#", rest)) => (0..=key.len()).any(|skipped| amqp(rest, &key[skipped..])),
        Some((&"*", rest)) => !key.is_empty() && amqp(rest, &key[1..]),
        Some((word, rest)) => key.first() == Some(word) && amqp(rest, &key[1..]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_pattern_matches_the_events_that_amqp_would(
        pattern in "[ab*](\\.[ab*]){0,3}(\\.#)?|#",
        module in "[ab]",
        event in "[ab](\\.[ab]){0,3}",
    ) {
        let key = format!("{module}.{event}");
        let words = |text: &'static str| text.split('.').collect::<Vec<_>>();
        let expected = amqp(&words(pattern.clone().leak()), &words(key.leak()));
        let module = ModuleName::new(module).unwrap();
        let event = EventName::new(event).unwrap();
        match EventPattern::new(&pattern) {
            Ok(read) => prop_assert_eq!(read.matches(&module, &event), expected),
            Err(_) => prop_assert!(!expected, "{} would match", pattern),
        }
        let exact = EventPattern::of_event(&module, &event).unwrap();
        if let Ok(read) = EventPattern::new(&pattern) {
            prop_assert_eq!(exact.is_covered_by(&[read]), expected);
        }
    }
}
