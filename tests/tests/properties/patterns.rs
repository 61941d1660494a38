//! Patterns of three grammars over the same subjects.

use mesh_core::binding::BindingPattern;
use mesh_core::manifest::EventPattern;
use mesh_core::subject::{Subject, normalise, overlaps};
use mesh_testkit::strategies::*;
use proptest::prelude::*;

use crate::cases;

/// AMQP's rule, said the slow way.
fn binds(words: &[&str], tokens: &[&str]) -> bool {
    match (words, tokens) {
        ([], []) => true,
        (["#", rest @ ..], _) => (0..=tokens.len()).any(|taken| binds(rest, &tokens[taken..])),
        ([word, rest @ ..], [token, more @ ..]) => {
            (*word == "*" || word == token) && binds(rest, more)
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn a_binding_matches_as_amqp_says(binding in few_bindings(), subject in few_subjects()) {
        let words: Vec<&str> = binding.words().collect();
        let tokens: Vec<&str> = subject.tokens().collect();
        prop_assert_eq!(binding.matches(&subject), binds(&words, &tokens));
    }

    #[test]
    fn a_bindings_filters_match_the_same(binding in few_bindings(), subject in few_subjects()) {
        match binding.to_filters() {
            Ok(filters) => prop_assert_eq!(
                filters.iter().any(|filter| filter.matches(&subject)),
                binding.matches(&subject)
            ),
            Err(refused) => prop_assert!(!binding.matches(&refused.counter_example)),
        }
    }

    #[test]
    fn any_binding_is_translated_or_refused_with_an_example(binding in binding_pattern()) {
        prop_assert_eq!(&BindingPattern::new(binding.as_str()).unwrap(), &binding);
        match binding.to_filters() {
            Ok(filters) => for filter in filters {
                let back = BindingPattern::from_filter(&filter);
                prop_assert!(back.is_ok() || filter.tokens().any(|token| token == "#"));
            },
            Err(refused) => {
                let nearest = mesh_core::subject::Filter::new(refused.nearest).unwrap();
                prop_assert!(nearest.matches(&refused.counter_example));
                prop_assert!(!binding.matches(&refused.counter_example));
            }
        }
    }

    #[test]
    fn a_pattern_of_events_matches_as_its_filters_do(
        pattern in few_patterns(),
        module in few_modules(),
        event in few_events(),
    ) {
        let subject = Subject::new(format!("{module}.{event}")).unwrap();
        // `>` and `#` alone mean every event, which has two tokens; so does `*.>`.
        let as_amqp = BindingPattern::new(pattern.as_str().replace('>', "*.#")).unwrap();
        let expected = as_amqp.matches(&subject);
        prop_assert_eq!(pattern.matches(&module, &event), expected, "{} {}", pattern, subject);
        if let Some(exact) = EventPattern::of_event(&module, &event) {
            prop_assert_eq!(exact.is_covered_by(std::slice::from_ref(&pattern)), expected);
        }
    }

    #[test]
    fn a_pattern_of_events_reads_back(pattern in event_pattern()) {
        prop_assert_eq!(EventPattern::new(pattern.as_str()).unwrap(), pattern);
    }

    #[test]
    fn what_is_left_of_a_set_matches_the_same(
        filters in prop::collection::vec(few_filters(), 0..6),
        subject in few_subjects(),
    ) {
        let left = normalise(filters.clone());
        let matched = |filters: &[mesh_core::subject::Filter]| filters.iter().any(|f| f.matches(&subject));
        prop_assert_eq!(matched(&left), matched(&filters));
        if left.iter().filter(|filter| filter.matches(&subject)).count() > 1 {
            prop_assert!(overlaps(&left).next().is_some());
        }
    }
}
