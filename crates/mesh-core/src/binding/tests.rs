use proptest::prelude::*;

use super::*;
use crate::subject::tests::naive as nats;
use crate::subject::{Filter, Subject, SubjectProblem};

/// AMQP topic matching as the specification words it, sharing nothing with the code under test.
fn amqp(pattern: &[&str], key: &[&str]) -> bool {
    match pattern {
        [] => key.is_empty(),
        ["#", rest @ ..] => (0..=key.len()).any(|taken| amqp(rest, &key[taken..])),
        ["*", rest @ ..] => !key.is_empty() && amqp(rest, &key[1..]),
        [word, rest @ ..] => key.first() == Some(word) && amqp(rest, &key[1..]),
    }
}

fn split(text: &str) -> Vec<&str> {
    text.split('.').collect()
}

fn any_nats(filters: &[Filter], subject: &str) -> bool {
    filters.iter().any(|filter| nats(&split(filter.as_str()), &split(subject)))
}

fn pattern(text: &str) -> BindingPattern {
    BindingPattern::new(text).unwrap()
}

fn filters(text: &str) -> Vec<String> {
    let filters = pattern(text).to_filters().unwrap();
    filters.iter().map(|f| f.as_str().to_owned()).collect()
}

fn binding(text: &str) -> String {
    let binding = BindingPattern::from_filter(&Filter::new(text).unwrap());
    binding.unwrap().as_str().to_owned()
}

fn check_to_filters(text: &str, subjects: &[String]) {
    let words = split(text);
    match pattern(text).to_filters() {
        Ok(filters) => {
            for subject in subjects {
                let wanted = amqp(&words, &split(subject));
                assert_eq!(any_nats(&filters, subject), wanted, "{text} {subject}");
            }
        }
        Err(refused) => {
            let example = refused.counter_example.as_str();
            assert!(nats(&split(&refused.nearest), &split(example)), "{refused}");
            assert!(!amqp(&words, &split(example)), "{refused}");
            assert!(Filter::new(refused.nearest.as_str()).is_ok(), "{refused}");
            assert!(Subject::new(example).is_ok(), "{refused}");
            assert!(matches!(&text[refused.offset..][..1], "#" | ">"), "{refused}");
        }
    }
}

fn check_from_filter(text: &str, subjects: &[String]) {
    let tokens = split(text);
    match BindingPattern::from_filter(&Filter::new(text).unwrap()) {
        Ok(binding) => {
            for subject in subjects {
                let found = amqp(&split(binding.as_str()), &split(subject));
                assert_eq!(found, nats(&tokens, &split(subject)), "{text} {subject}");
            }
        }
        Err(refused) => {
            let example = refused.counter_example.as_str();
            assert!(amqp(&split(&refused.nearest), &split(example)), "{refused}");
            assert!(!nats(&tokens, &split(example)), "{refused}");
            assert!(BindingPattern::new(refused.nearest.as_str()).is_ok(), "{refused}");
            assert!(Subject::new(example).is_ok(), "{refused}");
            assert_eq!(&text[refused.offset..][..1], "#", "{refused}");
        }
    }
}

fn sequences(alphabet: &[&str], longest: usize) -> Vec<String> {
    let mut all: Vec<String> = alphabet.iter().map(|&word| word.to_owned()).collect();
    let mut from = 0;
    for _ in 1..longest {
        let upto = all.len();
        for at in from..upto {
            all.extend(
                alphabet.iter().map(|word| format!("{}.{word}", all[at])).collect::<Vec<_>>(),
            );
        }
        from = upto;
    }
    all
}

#[test]
fn a_pattern_is_checked_like_a_subject_and_keeps_its_wildcards() {
    let problem = |text: &str| BindingPattern::new(text).unwrap_err().problem;
    assert_eq!(problem(""), SubjectProblem::EmptyToken { offset: 0 });
    assert_eq!(problem("#..a"), SubjectProblem::EmptyToken { offset: 2 });
    assert_eq!(problem("a.b c"), SubjectProblem::Character { found: ' ', offset: 3 });
    assert_eq!(problem(&"#".repeat(256)), SubjectProblem::TooLong { found: 256 });
    for text in ["#", "#.#.*", "a.>.b", "a#.*b"] {
        assert_eq!(pattern(text).as_str(), text);
    }
}

#[test]
fn translations_are_the_protocols() {
    assert_eq!(binding("a.*.b"), "a.*.b");
    assert_eq!(binding("a.>"), "a.*.#");
    assert_eq!(binding(">"), "*.#");
    assert_eq!(filters("a.*.b"), ["a.*.b"]);
    assert_eq!(filters("a.#"), ["a", "a.>"]);
    assert_eq!(filters("a.*.#"), ["a.>"]);
    assert_eq!(filters("#"), [">"]);
    assert_eq!(filters("*.#"), [">"]);
    assert_eq!(filters("#.#"), [">"]);
    assert_eq!(filters("a.*.*.#"), ["a.*.>"]);
}

#[test]
fn a_hash_moves_behind_the_stars_beside_it() {
    assert_eq!(filters("a.#.*"), ["a.>"]);
    assert_eq!(filters("*.#.*"), ["*.>"]);
    assert_eq!(filters("a.#.#.*.#"), ["a.>"]);
}

#[test]
fn a_hash_before_a_word_is_refused_with_a_counter_example() {
    let refused = |text: &str| {
        let refused = pattern(text).to_filters().unwrap_err();
        let example = refused.counter_example.as_str().to_owned();
        (refused.problem, refused.offset, refused.nearest, example)
    };
    let case = |problem, offset, nearest: &str, example: &str| {
        (problem, offset, nearest.to_owned(), example.to_owned())
    };
    use TranslationProblem::{InnerHash, TailWord};
    assert_eq!(refused("a.#.b"), case(InnerHash, 2, "a.>", "a.x"));
    assert_eq!(refused("#.*.x.xx"), case(InnerHash, 0, "*.>", "x.xxx"));
    assert_eq!(refused("a.>"), case(TailWord, 2, "a.>", "a.x"));
    assert_eq!(refused("*.>.b.#"), case(TailWord, 2, "*.>", "x.x"));
}

#[test]
fn a_filters_hash_token_is_refused_with_a_counter_example() {
    let refused = BindingPattern::from_filter(&Filter::new("a.#.>").unwrap()).unwrap_err();
    assert_eq!(refused.problem, TranslationProblem::HashToken);
    assert_eq!(refused.offset, 2);
    assert_eq!(refused.nearest, "a.#.*.#");
    assert_eq!(refused.counter_example.as_str(), "a.x.x");
    assert!(binding("a#.#b") == "a#.#b", "inside a token it is ordinary");
}

#[test]
fn the_longest_patterns_translate_too() {
    for end in 245..=253 {
        let head = "a".repeat(end);
        let tails = ["b", "bb", "b.b", "b.b.b"].map(|tail| format!("{head}.{tail}"));
        let subjects: Vec<String> = tails.into_iter().filter(|s| s.len() <= 255).collect();
        check_from_filter(&format!("{head}.>"), &subjects);
        for tail in ["#", "*.#", "#.b", "#.x", "#.x.xx"] {
            let text = format!("{head}.{tail}");
            if text.len() <= 255 {
                check_to_filters(&text, &subjects);
            }
        }
    }
    let xs: Vec<String> = (1..=20).map(|n| "x".repeat(n)).collect();
    check_to_filters(&format!("#.{}", xs.join(".")), &[]);
    check_to_filters(&format!("*.#.*.{}", "x.".repeat(123) + "x"), &[]);
    check_from_filter(&format!("{}.#.>", "a".repeat(251)), &[]);
}

#[test]
fn every_short_pattern_translates_exactly_or_is_refused() {
    let subjects = sequences(&["a", "b", "#"], 5);
    for text in sequences(&["a", "b", "*", "#", ">"], 4) {
        check_to_filters(&text, &subjects);
        if Filter::new(text.as_str()).is_ok() {
            check_from_filter(&text, &subjects);
        }
    }
}

fn words(alphabet: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(alphabet), 1..=most)
        .prop_map(|words| words.join("."))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn patterns_match_as_the_naive_matcher_does(
        text in words(&["a", "x", "*", "#", "#", ">"], 8),
        subject in words(&["a", "x", "xx", "#"], 8),
    ) {
        let found = pattern(&text).matches(&Subject::new(subject.as_str()).unwrap());
        prop_assert_eq!(found, amqp(&split(&text), &split(&subject)));
    }

    #[test]
    fn patterns_translate_exactly_or_are_refused(
        text in words(&["a", "x", "xx", "*", "#", ">", "a*"], 7),
        subjects in prop::collection::vec(words(&["a", "x", "xx", "#", "a*"], 7), 4),
    ) {
        check_to_filters(&text, &subjects);
    }

    #[test]
    fn filters_translate_exactly_or_are_refused(
        text in words(&["a", "x", "*", "#", "a>"], 6),
        tail in any::<bool>(),
        subjects in prop::collection::vec(words(&["a", "x", "#", "a>"], 7), 4),
    ) {
        let text = if tail { format!("{text}.>") } else { text };
        check_from_filter(&text, &subjects);
    }
}
