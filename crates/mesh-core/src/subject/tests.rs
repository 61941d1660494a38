use super::*;

fn filter(text: &str) -> Filter {
    Filter::new(text).unwrap()
}

/// NATS subject matching as its documentation words it, sharing nothing with the code under test.
pub(crate) fn naive(filter: &[&str], subject: &[&str]) -> bool {
    match filter {
        [] => subject.is_empty(),
        [">"] => !subject.is_empty(),
        ["*", rest @ ..] => !subject.is_empty() && naive(rest, &subject[1..]),
        [token, rest @ ..] => subject.first() == Some(token) && naive(rest, &subject[1..]),
    }
}

#[test]
fn a_subject_is_checked_token_by_token() {
    let problem = |text: &str| Subject::new(text).unwrap_err().problem;
    assert!(Subject::new("mx/in/1/acme.com/00").is_ok());
    assert!(Subject::new("a*.b>").is_ok(), "a star inside a token is an ordinary character");
    assert_eq!(problem(""), SubjectProblem::EmptyToken { offset: 0 });
    assert_eq!(problem("a..b"), SubjectProblem::EmptyToken { offset: 2 });
    assert_eq!(problem("a."), SubjectProblem::EmptyToken { offset: 2 });
    assert_eq!(problem("a.*"), SubjectProblem::Wildcard { offset: 2 });
    assert_eq!(problem("a b"), SubjectProblem::Character { found: ' ', offset: 1 });
    assert_eq!(problem("a\0"), SubjectProblem::Character { found: '\0', offset: 1 });
    assert_eq!(problem("é\u{a0}"), SubjectProblem::Character { found: '\u{a0}', offset: 2 });
    assert_eq!(problem("é\u{85}"), SubjectProblem::Character { found: '\u{85}', offset: 2 });
    assert_eq!(problem(&"a".repeat(256)), SubjectProblem::TooLong { found: 256 });
    assert!(Subject::new("a".repeat(255)).is_ok());
}

#[test]
fn a_tail_wildcard_is_last() {
    assert_eq!(
        Filter::new("a.>.b").unwrap_err().problem,
        SubjectProblem::TailNotLast { offset: 2 }
    );
    assert!(filter("a.>").has_wildcard());
    assert!(!filter("a.b").has_wildcard());
    assert_eq!(filter("a.b").as_subject().unwrap().as_str(), "a.b");
    assert_eq!(filter("a.*").as_subject(), None);
}

#[test]
fn matching_follows_the_grammar() {
    let matches = |f: &str, s: &str| filter(f).matches(&Subject::new(s).unwrap());
    assert!(matches("a.*.c", "a.b.c"));
    assert!(!matches("a.*", "a"));
    assert!(!matches("a.*", "a.b.c"));
    assert!(matches("a.>", "a.b.c"));
    assert!(!matches("a.>", "a"));
    assert!(matches(">", "a"));
    assert!(matches("*.>", "a.b"));
    assert!(!matches("*.>", "a"));
}

#[test]
fn containing_and_overlapping() {
    assert!(filter("a.>").contains(&filter("a.*.b")));
    assert!(filter("a.*").contains(&filter("a.b")));
    assert!(!filter("a.*").contains(&filter("a.>")));
    assert!(filter("a.>").contains(&filter("a.>")));
    assert!(filter("a.*.>").contains(&filter("a.b.>")));
    assert!(!filter("a.*.>").contains(&filter("a.>")));
    assert!(filter("a.*.c").overlaps(&filter("a.b.*")));
    assert!(filter("a.>").overlaps(&filter("*.b")));
    assert!(!filter("a.>").overlaps(&filter("a")));
    assert!(!filter("a.b").overlaps(&filter("a.c")));
}

fn filters(texts: &[&str]) -> Vec<Filter> {
    texts.iter().map(|text| filter(text)).collect()
}

#[test]
fn normalising_keeps_what_no_other_filter_contains() {
    let given = filters(&["a.b", "a.>", "a.*.c", "b.*", "*.c", "b.*", "a"]);
    assert_eq!(normalise(given), filters(&["a.>", "b.*", "*.c", "a"]));
    assert_eq!(normalise(filters(&["a", ">", "*.>"])), filters(&[">"]));
    assert_eq!(normalise(Vec::new()), Vec::new());
}

#[test]
fn overlaps_are_the_pairs_that_share_a_subject() {
    let given = filters(&["a.*", "*.b", "a.>", "c"]);
    let pairs: Vec<_> = overlaps(&given).map(|(l, r)| (l.as_str(), r.as_str())).collect();
    assert_eq!(pairs, [("a.*", "*.b"), ("a.*", "a.>"), ("*.b", "a.>")]);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn text(alphabet: &'static [&'static str]) -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(alphabet), 1..=4).prop_map(|t| t.join("."))
    }

    fn any_filter() -> impl Strategy<Value = Filter> {
        (text(&["a", "b", "*", "a*", ">b"]), any::<bool>())
            .prop_map(|(text, tail)| filter(&if tail { format!("{text}.>") } else { text }))
    }

    /// Every subject of up to six tokens out of three, one of them in no filter: enough to tell
    /// any two filters of `any_filter` apart.
    fn probes() -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..6 {
            let upto = all.len();
            for at in from..upto {
                for token in ["a", "b", "c"] {
                    let dot = if all[at].is_empty() { "" } else { "." };
                    all.push(format!("{}{dot}{token}", all[at]));
                }
            }
            from = upto;
        }
        all.split_off(1)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn the_short_way_of_checking_says_what_the_long_one_says(
            parts in prop::collection::vec(
                prop::sample::select(&[".", "a", "b", "*", ">", " ", "\t", "\u{7f}", "é", "\u{a0}", "~"]),
                0..9,
            ),
            length in prop::sample::select(&[0_usize, 0, 0, 0, 250, 251, 252, 255, 256]),
        ) {
            let text = format!("{}{}", "x".repeat(length), parts.concat());
            let sound = check_tokens(&text, |_, _| Ok(())).is_ok();
            let is_wild = |token: &str| matches!(token, "*" | ">");
            let plain = sound && !text.split('.').any(is_wild);
            prop_assert_eq!(Subject::new(text.as_str()).is_ok(), plain, "{:?}", text);
        }

        #[test]
        fn matching_agrees_with_a_naive_matcher(
            filter in any_filter(),
            subject in text(&["a", "b", "a*", ">b", "c"]),
        ) {
            let tokens: Vec<&str> = filter.tokens().collect();
            let found = filter.matches(&Subject::new(subject.as_str()).unwrap());
            prop_assert_eq!(found, naive(&tokens, &subject.split('.').collect::<Vec<_>>()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn normalising_changes_no_subject_and_leaves_none_inside_another(
            given in prop::collection::vec(
                (text(&["a", "b", "*"]), any::<bool>())
                    .prop_map(|(t, tail)| filter(&if tail { format!("{t}.>") } else { t })),
                0..8,
            ),
        ) {
            let kept = normalise(given.clone());
            for (at, one) in kept.iter().enumerate() {
                for (other_at, other) in kept.iter().enumerate() {
                    prop_assert!(at == other_at || !one.contains(other), "{one} {other}");
                }
            }
            let any = |set: &[Filter], s: &Subject| set.iter().any(|f| f.matches(s));
            for text in probes() {
                let subject = Subject::new(text).unwrap();
                prop_assert_eq!(any(&given, &subject), any(&kept, &subject));
            }
            for (one, other) in overlaps(&kept) {
                let shared = probes().into_iter().any(|text| {
                    let subject = Subject::new(text).unwrap();
                    one.matches(&subject) && other.matches(&subject)
                });
                prop_assert!(shared, "{one} and {other}");
            }
        }
    }
}
