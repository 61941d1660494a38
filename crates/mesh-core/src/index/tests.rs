use std::rc::Rc;

use proptest::prelude::*;

use super::key::Target;
use super::*;
use crate::subject::{Filter, Subject};

fn filter(text: &str) -> Filter {
    Filter::new(text).unwrap()
}

fn subject(text: &str) -> Subject {
    Subject::new(text).unwrap()
}

fn found(index: &FilterIndex<u32>, text: &str) -> Vec<u32> {
    let mut found: Vec<u32> = index.matches(&subject(text)).into_iter().copied().collect();
    found.sort_unstable();
    found
}

impl<T> FilterIndex<T> {
    /// Everything that must hold between the parts, from scratch.
    fn check(&self) {
        let (mut idle, mut at) = (0, self.vacant_node);
        while at != NONE {
            (at, idle) = (self.nodes[at as usize].xor, idle + 1);
        }
        let mut below = vec![(0, 0); self.nodes.len()];
        let mut values = 0;
        for id in 0..self.records.records() as u32 {
            let record = self.records.at(id);
            values += record.values.len();
            if record.values.is_empty() {
                continue;
            }
            let mut at = self.records.key(id).node();
            while let Some(node) = self.nodes.get(at as usize) {
                below[at as usize].0 += 1;
                below[at as usize].1 ^= id;
                at = node.key.node();
            }
        }
        assert_eq!(values, self.len());
        let mut under = vec![0; self.nodes.len()];
        let mut edges = 0;
        let nodes = (self.nodes.iter().enumerate().skip(1))
            .filter(|&(at, _)| below[at].0 > 0)
            .map(|(at, node)| (node.key, Target::Node(at as u32)));
        let leaves = (0..self.records.records() as u32)
            .filter(|&id| !self.records.at(id).values.is_empty())
            .map(|id| (self.records.key(id), Target::Leaf(id)));
        for (key, target) in nodes.chain(leaves) {
            if key.parent == key::EXACT {
                continue;
            }
            assert_eq!(self.edges.get(key).map(Child::target), Some(target));
            if symbol::is_token(key.symbol) {
                under[key.node() as usize] += 1;
                edges += 1;
            }
            let above = match key.node() {
                ROOT => self.root,
                node => self.edges.get(self.nodes[node as usize].key).unwrap(),
            };
            assert!(above.has(key.symbol));
        }
        assert_eq!(self.tokens.uses().iter().sum::<u32>(), edges);
        let mut used = 0;
        for (node, &(records, xor)) in self.nodes.iter().zip(&below) {
            if records > 0 {
                used += 1;
                assert_eq!((node.records, node.xor), (records, xor));
            }
        }
        for (node, under) in self.nodes.iter().zip(under) {
            assert!(node.tokens == under || node.records == 0 || under == 0);
        }
        assert!(below.iter().skip(1).all(|&(records, _)| records != 1));
        assert_eq!(used + idle + usize::from(below[0].0 == 0), self.nodes.len());
    }
}

#[test]
fn wildcards_stand_for_what_they_stand_for() {
    let mut index = FilterIndex::new();
    let texts = ["a", "*", ">", "a.>", "a.*", "*.b", "a.b", "a.*.c", "*.>", "a.b.>"];
    for (at, text) in (0..).zip(texts) {
        index.add(&filter(text), at).unwrap();
    }
    assert_eq!(found(&index, "a"), [0, 1, 2]);
    assert_eq!(found(&index, "a.b"), [2, 3, 4, 5, 6, 8]);
    assert_eq!(found(&index, "a.b.c"), [2, 3, 7, 8, 9]);
    assert_eq!(found(&index, "x.y.z"), [2, 8]);
}

#[test]
fn equal_values_under_one_filter_are_each_visited_and_removed() {
    let mut index = FilterIndex::new();
    let mut ids: Vec<EntryId> = (0..4).map(|_| index.add(&filter("a.*"), 7).unwrap()).collect();
    assert_eq!(found(&index, "a.b"), [7; 4]);
    // The first is the head of the list, the next in its middle.
    for left in (0..4).rev() {
        assert_eq!(index.remove(ids.remove(0)), Some(7));
        assert_eq!(found(&index, "a.b"), vec![7; left]);
    }
    assert!(index.is_empty());
}

#[test]
fn an_id_of_another_index_removes_nothing_that_is_not_there() {
    let (mut one, mut other) = (FilterIndex::new(), FilterIndex::new());
    one.add(&filter("a"), 1).unwrap();
    let second = one.add(&filter("b"), 2).unwrap();
    other.add(&filter("a"), 1).unwrap();
    assert_eq!(other.remove(second), None);
    assert_eq!(other.len(), 1);
}

#[test]
fn a_removed_value_is_dropped_by_its_taker_and_the_rest_with_the_index() {
    let value = Rc::new(());
    let mut index = FilterIndex::new();
    let id = index.add(&filter("a.>"), Rc::clone(&value)).unwrap();
    index.add(&filter("a.b"), Rc::clone(&value)).unwrap();
    drop(index.remove(id));
    assert_eq!(Rc::strong_count(&value), 2);
    drop(index);
    assert_eq!(Rc::strong_count(&value), 1);
}

#[test]
fn the_longest_and_the_deepest_filters_fit() {
    let mut index = FilterIndex::new();
    let long = "a".repeat(255);
    let deep = "*.".repeat(127) + "*";
    let deeper = "*.".repeat(127) + ">";
    for (at, text) in (0..).zip([&long, &deep, &deeper]) {
        index.add(&filter(text), at).unwrap();
        index.check();
    }
    assert_eq!(found(&index, &long), [0]);
    assert_eq!(found(&index, &("a.".repeat(127) + "b")), [1, 2]);
    assert_eq!(found(&index, &("a.".repeat(126) + "b")), [0u32; 0]);
}

#[test]
fn churn_takes_no_more_room_than_the_most_that_was_held_at_once() {
    let mut index = FilterIndex::new();
    let text = |n: u32| match n % 4 {
        0 => format!("a.{n}.*.b"),
        1 => format!("a.{}.*.c.>", n - 1),
        2 => format!("a.{n}.b"),
        _ => format!("*.{}.b", n % 50),
    };
    let mut ids = std::collections::VecDeque::new();
    let mut sizes = Vec::new();
    let _held = index.add(&filter("z.*"), 0).unwrap();
    for n in 0..20_000 {
        ids.push_back(index.add(&filter(&text(n)), n).unwrap());
        if ids.len() > 500 {
            assert!(index.remove(ids.pop_front().unwrap()).is_some());
        }
        if n % 5_000 == 4_999 {
            index.check();
            sizes.push((
                index.records.places(),
                index.records.records(),
                index.edges.capacity(),
                index.nodes.capacity(),
                index.texts.capacity(),
            ));
        }
    }
    assert_eq!(sizes[0], sizes[3]);
    assert!(index.edges.lengths().0 < 10);
    assert_eq!(sizes[0].0, 502);
}

#[test]
fn look_ups_stay_short_as_the_index_grows() {
    let mut index = FilterIndex::new();
    for n in 0..20_000usize {
        let text = format!("a.{n}.{}", ["*", "b", ">"][n % 3]);
        index.add(&filter(&text), n).unwrap();
        if n.count_ones() == 1 {
            assert_short(&index.edges, n);
        }
    }
    assert_short(&index.edges, 20_000);
}

/// Hashes drawn at random give 1.12 and, at the few places that are fullest, some 30.
fn assert_short(edges: &Edges, n: usize) {
    let (longest, mean) = edges.lengths();
    assert!(longest < 40 && mean < 1.25, "{n}: {longest}, {mean}");
}

#[test]
fn tokens_made_to_collide_under_one_seed_do_not_under_another() {
    let tokens: Vec<String> = (0..300_000).map(|n| format!("t{n}")).collect();
    let colliding = |seed, tokens: &[String]| {
        let hashes = Hashes::seeded(seed);
        let mut by_hash = std::collections::HashMap::<u32, Vec<String>>::new();
        for token in tokens {
            by_hash.entry(hashes.of(token.as_bytes())).or_default().push(token.clone());
        }
        by_hash.into_values().filter(|same| same.len() > 1).collect::<Vec<_>>()
    };
    let groups = colliding(0, &tokens);
    assert!(groups.len() >= 5, "some twenty of so many collide by chance: {}", groups.len());
    let still = groups.iter().filter(|group| !colliding(1, group).is_empty()).count();
    assert_eq!(still, 0, "of {}", groups.len());
}

#[test]
fn edges_made_to_crowd_one_place_under_one_seed_do_not_under_another() {
    let home = |seed, key: Key| key.hash(Mixer::seeded(seed)) >> 20;
    let keys = (0..1 << 20).map(|parent| Key { parent, symbol: 7 });
    let crowd: Vec<_> = keys.filter(|&key| home(0, key) == 0).collect();
    assert!(crowd.len() > 100, "{}", crowd.len());
    let homes: std::collections::HashSet<_> = crowd.iter().map(|&key| home(1, key)).collect();
    assert!(homes.len() > crowd.len() / 2, "{} of {}", homes.len(), crowd.len());
}

#[test]
fn an_index_finds_the_same_whatever_its_seed() {
    for seed in [0, 1, u64::MAX] {
        let mut index = FilterIndex::seeded(seed);
        for text in ["a.*", "a.b", "*.b", "a.>", "c.>"] {
            index.add(&filter(text), text).unwrap();
        }
        let mut found = index.matches(&subject("a.b"));
        found.sort_unstable();
        assert_eq!(found, [&"*.b", &"a.*", &"a.>", &"a.b"], "{seed}");
    }
}

#[test]
fn an_emptied_index_gives_its_memory_back() {
    let mut index = FilterIndex::new();
    let ids: Vec<EntryId> = (0..1_000)
        .map(|n| index.add(&filter(&format!("a.{}.*.{n}", n % 10)), n).unwrap())
        .collect();
    for id in ids {
        assert!(index.remove(id).is_some());
    }
    assert_eq!(index.records.places(), 0);
    assert_eq!(index.nodes.len(), 1);
    assert_eq!(index.texts.capacity(), 0);
}

#[derive(Debug, Clone)]
enum Step {
    Add(String),
    Remove(prop::sample::Index),
    Match(String),
}

fn words(alphabet: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(alphabet), 1..=5).prop_map(|words| words.join("."))
}

/// A token that is held apart, since it is long.
const LONG: &str = "longer-than-a-token-usually-is";

fn step() -> impl Strategy<Value = Step> {
    let filters = (words(&["a", "b", "*", "longer-than-8", LONG]), any::<bool>());
    prop_oneof![
        3 => filters.prop_map(|(text, tail)| Step::Add(if tail { format!("{text}.>") } else { text })),
        2 => any::<prop::sample::Index>().prop_map(Step::Remove),
        2 => words(&["a", "b", "c", "longer-than-8", LONG]).prop_map(Step::Match),
    ]
}

/// Runs the steps beside a plain list. `mask` narrows the hashes, so that they collide.
fn run(steps: &[Step], mask: u32) {
    let mut index = FilterIndex::with_hashes(Hashes::narrowed(mask), Mixer::seeded(0));
    let mut model: Vec<(Filter, u32, EntryId)> = Vec::new();
    for (at, step) in (0..).zip(steps) {
        match step {
            Step::Add(text) => {
                let filter = filter(text);
                let id = index.add(&filter, at).unwrap();
                model.push((filter, at, id));
            }
            Step::Remove(which) if !model.is_empty() => {
                let (_, value, id) = model.swap_remove(which.index(model.len()));
                assert_eq!(index.remove(id), Some(value));
            }
            Step::Remove(_) => {}
            Step::Match(text) => {
                let subject = subject(text);
                let wanted = model.iter().filter(|(filter, ..)| filter.matches(&subject));
                let mut wanted: Vec<u32> = wanted.map(|&(_, value, _)| value).collect();
                wanted.sort_unstable();
                assert_eq!(found(&index, text), wanted, "{text}");
            }
        }
        index.check();
        assert_eq!(index.len(), model.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8_000))]

    #[test]
    fn it_finds_what_a_scan_finds(steps in prop::collection::vec(step(), 1..40)) {
        run(&steps, u32::MAX);
    }

    #[test]
    fn it_finds_what_a_scan_finds_though_all_tokens_collide(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        run(&steps, 0);
    }

    #[test]
    fn it_finds_what_a_scan_finds_though_some_tokens_collide(
        steps in prop::collection::vec(step(), 1..40),
        bit in 0..32u32,
    ) {
        run(&steps, 1 << bit);
    }
}
