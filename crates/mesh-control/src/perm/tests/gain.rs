//! What is gained, against looking at everything that a small alphabet can say.

use std::collections::BTreeSet;

use mesh_core::permissions::{Permissions, Rule, Rules, Side};
use mesh_core::port::QueueGroup;
use mesh_core::subject::{Filter, Subject};
use proptest::prelude::*;

use super::super::gain::{Gain, How, gains};

fn rule(text: &str) -> Rule {
    let (filter, group) = match text.split_once(' ') {
        Some((filter, group)) => (filter, Some(QueueGroup::new(group).unwrap())),
        None => (text, None),
    };
    Rule { filter: Filter::new(filter).unwrap(), group }
}

fn rules(allow: &[&str], deny: &[&str]) -> Rules {
    let deny = deny.iter().map(|text| Filter::new(*text).unwrap());
    Rules::allow(allow.iter().map(|text| rule(text))).except(deny)
}

fn publish(allow: &[&str], deny: &[&str]) -> Permissions {
    Permissions { publish: rules(allow, deny), ..Permissions::default() }
}

fn subscribe(allow: &[&str], deny: &[&str]) -> Permissions {
    Permissions { subscribe: rules(allow, deny), ..Permissions::default() }
}

/// The first example of what is gained.
fn example(old: &Permissions, new: &Permissions) -> Option<String> {
    let gains = gains(old, new);
    gains.first().map(|gain| gain.example.as_ref().unwrap().to_string())
}

#[test]
fn the_same_in_other_words_gains_nothing() {
    for (old, new) in [
        (&["a.>"][..], &["a.*", "a.*.>"][..]),
        (&["a.*", "a.*.>"], &["a.>"]),
        (&["a.>"], &["a.b", "a.c.d"]),
        (&["a.*"], &["a.b", "a.c"]),
        (&[">"], &["*", "*.*", "*.*.>"]),
        (&["a.*.c", "a.b.*"], &["a.b.c"]),
        (&["a"], &[]),
    ] {
        assert_eq!(example(&publish(old, &[]), &publish(new, &[])), None, "{old:?} {new:?}");
    }
}

#[test]
fn a_wildcard_in_place_of_a_word_gains_what_it_stands_for_beside_it() {
    let (old, new) = (publish(&["a.b"], &[]), publish(&["a.*"], &[]));
    assert_eq!(example(&old, &new).as_deref(), Some("a.x"));
    let (old, new) = (publish(&["a.x", "a.y"], &[]), publish(&["a.*"], &[]));
    assert_eq!(example(&old, &new).as_deref(), Some("a.x1"));
    let (old, new) = (publish(&["a.*"], &[]), publish(&["a.>"], &[]));
    assert_eq!(example(&old, &new).as_deref(), Some("a.x.x"));
    // To `mesh.tools.>` in place of what it has.
    let (old, new) = (publish(&["a.*.*"], &[]), publish(&["a.b.>"], &[]));
    assert_eq!(example(&old, &new).as_deref(), Some("a.b.x.x"));
}

#[test]
fn a_denied_filter_that_goes_gains_what_it_denied_and_only_what_is_allowed_of_it() {
    let denied = publish(&["a.>"], &["*.secret", "b.>"]);
    assert_eq!(example(&denied, &publish(&["a.>"], &["*.secret"])), None);
    assert_eq!(example(&denied, &publish(&["a.>"], &["b.>"])).as_deref(), Some("a.secret"));
    let narrower = publish(&["a.>"], &["a.secret", "b.>"]);
    assert_eq!(example(&denied, &narrower), None);
    assert_eq!(example(&publish(&["a.>"], &[]), &denied), None);
}

#[test]
fn who_hears_only_in_a_group_gains_by_hearing_alone_and_the_other_way_round_not() {
    let (grouped, alone) = (subscribe(&["a serve"], &[]), subscribe(&["a"], &[]));
    let gained = gains(&grouped, &alone);
    assert_eq!((&gained[0].how, gained[0].side), (&How::Plain, Side::Subscribe));
    assert_eq!(example(&alone, &grouped), None);
    let other = gains(&grouped, &subscribe(&["a serve", "a other"], &[]));
    assert_eq!(other[0].how, How::Group(QueueGroup::new("other").unwrap()));
}

#[test]
fn a_group_that_is_no_longer_named_lets_all_others_in() {
    let (named, free) = (subscribe(&["a", "a q1"], &[]), subscribe(&["a"], &[]));
    let gained = gains(&named, &free);
    assert_eq!(gained.len(), 1, "{gained:?}");
    assert_eq!(gained[0].how, How::OtherGroups);
    assert_eq!(example(&free, &named), None);
}

#[test]
fn a_last_star_hears_what_a_tail_hears_as_a_server_has_it() {
    assert_eq!(example(&subscribe(&["a.*"], &[]), &subscribe(&["a.>"], &[])), None);
    assert_eq!(example(&publish(&["a.*"], &[]), &publish(&["a.>"], &[])).as_deref(), Some("a.x.x"));
}

/// What is denied covers everything, but no single denied filter does, and any of forty places may hold a word that
/// tells the old filters apart: more ways than can be looked at.
#[test]
fn what_takes_too_long_to_decide_counts_as_a_gain_without_an_example() {
    let filter = |at: usize| {
        let words = (0..40).map(|place| if place == at { "a" } else { "*" });
        words.collect::<Vec<_>>().join(".")
    };
    let old: Vec<String> = (0..40).map(filter).collect();
    let old: Vec<&str> = old.iter().map(String::as_str).collect();
    let found = gains(&publish(&old, &[]), &publish(&[">"], &["*", "*.>"]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].example, None);
}

fn text(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    let tokens = prop::collection::vec(prop::sample::select(words), 1..=3);
    (tokens, prop::bool::weighted(0.25)).prop_map(|(tokens, tail)| {
        let text = tokens.join(".");
        if tail { format!("{text}.>") } else { text }
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    let any = prop_oneof![9 => text(&["a", "b", "*"]), 1 => Just(">".to_owned())];
    any.prop_map(|text| Filter::new(text).unwrap())
}

fn any_rules(groups: bool) -> impl Strategy<Value = Rules> {
    let group = prop::option::of(prop::sample::select(&["q1", "q2"][..]));
    let rule = (filter(), group).prop_map(move |(filter, group)| Rule {
        filter,
        group: group.filter(|_| groups).map(|group| QueueGroup::new(group).unwrap()),
    });
    let allow = prop::collection::vec(rule, 0..4);
    let deny = prop::collection::vec(filter(), 0..3);
    (allow, deny).prop_map(|(allow, deny)| Rules::allow(allow).except(deny))
}

/// Often a small change of the first, or it would rarely be near.
fn pair(groups: bool) -> impl Strategy<Value = (Rules, Rules)> {
    let change = (any_rules(groups), any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (any_rules(groups), change, 0..4_u8).prop_map(|(old, (other, one, two), how)| {
        let without = |rules: &Rules, index: prop::sample::Index| {
            let mut allowed = rules.allowed().to_vec();
            if !allowed.is_empty() {
                allowed.remove(index.index(allowed.len()));
            }
            Rules::allow(allowed).except(rules.denied().iter().cloned())
        };
        let fewer_denied = |rules: &Rules, index: prop::sample::Index| {
            let mut denied = rules.denied().to_vec();
            if !denied.is_empty() {
                denied.remove(index.index(denied.len()));
            }
            Rules::allow(rules.allowed().to_vec()).except(denied)
        };
        let new = match how {
            0 => other,
            1 => without(&old, one).also(other.allowed().first().cloned()),
            2 => fewer_denied(&old, one).except(other.denied().first().cloned()),
            _ => fewer_denied(&without(&old, one), two).also(other.allowed().to_vec()),
        };
        (old, new)
    })
}

/// All texts of up to so many tokens.
fn all(words: &[&str], tokens: usize) -> Vec<String> {
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut last = all.clone();
    for _ in 1..tokens {
        let mut longer = Vec::new();
        for text in &last {
            longer.extend(words.iter().map(|word| format!("{text}.{word}")));
        }
        all.extend(longer.clone());
        last = longer;
    }
    all
}

fn subjects() -> Vec<Subject> {
    all(&["a", "b", "c"], 5).into_iter().map(|text| Subject::new(text).unwrap()).collect()
}

fn groups() -> Vec<Option<QueueGroup>> {
    let named = ["q1", "q2", "q3"].map(|name| Some(QueueGroup::new(name).unwrap()));
    [None].into_iter().chain(named).collect()
}

/// All that is heard by some subscription that is permitted: every one that can be written is tried.
fn heard(rules: &Rules, filters: &[(Filter, Vec<usize>)]) -> BTreeSet<(usize, usize)> {
    let subjects = subjects();
    let hidden: Vec<bool> = subjects.iter().map(|subject| rules.hides(subject)).collect();
    let mut heard = BTreeSet::new();
    for (number, group) in groups().iter().enumerate() {
        for (filter, matched) in filters {
            if rules.permits_filter(filter, group.as_ref()) {
                let audible = matched.iter().filter(|subject| !hidden[**subject]);
                heard.extend(audible.map(|subject| (number, *subject)));
            }
        }
    }
    heard
}

/// Every filter of up to four tokens, with the numbers of the subjects that match it.
fn every_filter() -> Vec<(Filter, Vec<usize>)> {
    let subjects = subjects();
    let bodies = all(&["a", "b", "c", "*"], 4);
    let tails = all(&["a", "b", "c", "*"], 3).into_iter().map(|text| format!("{text}.>"));
    let texts = bodies.into_iter().chain(tails).chain([">".to_owned()]);
    let filters = texts.map(|text| Filter::new(text).unwrap());
    let matched = |filter: &Filter| {
        let all = subjects.iter().enumerate().filter(|(_, subject)| filter.matches(subject));
        all.map(|(number, _)| number).collect()
    };
    filters
        .map(|filter| {
            let matched = matched(&filter);
            (filter, matched)
        })
        .collect()
}

/// Whether an example is one.
fn holds(gain: &Gain, old: &Permissions, new: &Permissions) -> bool {
    let subject = gain.example.as_ref().unwrap();
    gain.within.matches(subject)
        && match gain.side {
            Side::Publish => new.publish.permits(subject) && !old.publish.permits(subject),
            Side::Subscribe => true,
        }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn something_to_say_is_gained_exactly_where_trying_everything_finds_something(
        (old, new) in pair(false),
    ) {
        let everything = subjects();
        let tried = everything.iter().any(|subject| new.permits(subject) && !old.permits(subject));
        let old = Permissions { publish: old, ..Permissions::default() };
        let new = Permissions { publish: new, ..Permissions::default() };
        let found = gains(&old, &new);
        prop_assert_eq!(!found.is_empty(), tried, "{:?}", found);
        prop_assert!(found.iter().all(|gain| holds(gain, &old, &new)), "{:?}", found);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn something_to_hear_is_gained_exactly_where_trying_every_subscription_finds_something(
        (old, new) in pair(true),
    ) {
        thread_local!(static FILTERS: Vec<(Filter, Vec<usize>)> = every_filter());
        let (before, now) =
            FILTERS.with(|filters| (heard(&old, filters), heard(&new, filters)));
        let tried = now.difference(&before).next().is_some();
        let old = Permissions { subscribe: old, ..Permissions::default() };
        let new = Permissions { subscribe: new, ..Permissions::default() };
        let found = gains(&old, &new);
        prop_assert_eq!(!found.is_empty(), tried, "{:?}", found);
    }
}
