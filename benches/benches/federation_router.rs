//! What a router's decision costs in a tree of a hundred thousand realms: against a walk over a plain
//! `HashMap` label by label, and against a look at every child. And what such a tree takes in memory.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::collections::HashMap;
use std::hint::black_box;

use mesh_benches::Comparison;
use mesh_core::mx::MxRealm;
use mesh_core::name::RealmName;
use mesh_federation::router::{Hop, Routes, check_tree};

const REALMS: usize = 100_000;
/// How many destinations are decided about in one go.
const LETTERS: usize = 1_000;

fn main() {
    // First, while the process has no memory that was given back.
    tree();
    flat();
    mixed();
}

/// One router above all others, whose children are all as long.
fn flat() {
    let names: Vec<String> = (0..REALMS).map(|n| format!("acme.realm-{n:05}")).collect();
    against("100,000 children of one length", &names, 3);
}

/// Children of two, three and four labels, some below others.
fn mixed() {
    let names: Vec<String> = (0..REALMS)
        .map(|n| match n % 3 {
            0 => format!("acme.r{n}"),
            1 => format!("acme.r{}.s{n}", n - 1),
            _ => format!("acme.r{}.s{}.t{n}", n - 2, n - 1),
        })
        .collect();
    against("100,000 children of three lengths", &names, 3);
}

fn against(name: &str, children: &[String], below: usize) {
    let mut routes = Routes::new(realm("acme")).with_parent(realm("root")).unwrap();
    let mut plain: HashMap<String, String> = HashMap::new();
    for child in children {
        routes.add_child(realm(child)).unwrap();
        plain.insert(child.clone(), child.clone());
    }
    // Every so manieth child itself, what is below it, and what nobody is.
    let step = children.len() / LETTERS;
    for (what, tail) in [("a child", ""), ("below a child", ".x.y"), ("nobody's", "-x.y.z")] {
        let letters: Vec<MxRealm<'static>> = (0..LETTERS)
            .map(|n| MxRealm::new(format!("{}{tail}", children[n * step])).unwrap())
            .collect();
        let decide = || letters.iter().filter(|to| is_down(routes.decide(to, Some(8)))).count();
        let walk = || letters.iter().filter(|to| walk(&plain, to.as_str()).is_some()).count();
        let scan = |most: usize| {
            let found =
                letters.iter().take(most).filter(|to| scan(children, to.as_str()).is_some());
            found.count()
        };
        assert_eq!(decide(), walk());
        assert_eq!(
            letters.iter().take(below).filter(|to| is_down(routes.decide(to, None))).count(),
            scan(below)
        );
        let items = u32::try_from(LETTERS).unwrap();
        let report =
            Comparison::new(format!("{name}, {what}, against a HashMap"), items).run(walk, decide);
        println!("{report}");
        let few = u32::try_from(below).unwrap();
        let comparison = Comparison::new(format!("{name}, {what}, against a scan"), few).rounds(7);
        let decide_few =
            || letters.iter().take(below).filter(|to| is_down(routes.decide(to, Some(8)))).count();
        println!("{}", comparison.run(|| scan(below), decide_few));
    }
}

/// Every realm of the tree with a router of its own, ten children each, and a journey between two ends of it.
fn tree() {
    let before = resident();
    let mut all: Vec<Routes> = vec![Routes::new(realm("root"))];
    let mut at: HashMap<RealmName, usize> = HashMap::from([(realm("root"), 0)]);
    for number in 1..REALMS {
        let above = (number - 1) / 10;
        let parent = all[above].realm().clone();
        let name = realm(&format!("{parent}.n{}", number % 10));
        all[above].add_child(name.clone()).unwrap();
        at.insert(name.clone(), number);
        all.push(Routes::new(name).with_parent(parent).unwrap());
    }
    let after = resident();
    println!(
        "{REALMS} routers of a tree and an index of them: {} bytes each",
        after.saturating_sub(before) / REALMS
    );
    assert_eq!(check_tree(&all), []);
    let one = all[REALMS - 1].realm().clone();
    let other = MxRealm::from(all[REALMS / 2].realm()).into_owned();
    let journey = || {
        let (mut here, mut hops, mut ttl) = (&all[at[&one]], 0_u32, Some(64));
        loop {
            match here.decide(black_box(&other), ttl) {
                Hop::Down(next, left) | Hop::Up(next, left) => {
                    (here, ttl) = (&all[at[next]], Some(left));
                    hops += 1;
                }
                _ => return hops,
            }
        }
    };
    let hops = journey();
    let plain: Vec<Plain> = all.iter().map(Plain::of).collect();
    let by_hand = || {
        let (mut here, mut hops, mut ttl) = (&plain[at[&one]], 0_u32, 64);
        while let Some(next) = here.next(black_box(other.as_str()), ttl) {
            (here, ttl) = (&plain[at[next]], ttl - 1);
            hops += 1;
        }
        hops
    };
    assert_eq!(by_hand(), hops);
    let name = format!("a journey of {hops} hops, a hop with the look for its router");
    println!("{}", Comparison::new(name, hops * 1_000).run(|| many(by_hand), || many(journey)));
    let before = resident();
    let mut one = Routes::new(realm("acme"));
    for n in 0..REALMS {
        one.add_child(realm(&format!("acme.realm-{n:05}"))).unwrap();
    }
    let bytes = resident().saturating_sub(before) / REALMS;
    println!("{} children of one router: {bytes} bytes each", one.children().len());
}

fn many(journey: impl Fn() -> u32) -> u32 {
    (0..1_000).map(|_| journey()).sum()
}

/// A router as one would write it by hand.
struct Plain {
    realm: String,
    parent: Option<String>,
    children: HashMap<String, String>,
}

impl Plain {
    fn of(routes: &Routes) -> Self {
        let text = |realm: &RealmName| realm.as_str().to_owned();
        Self {
            realm: text(routes.realm()),
            parent: routes.parent().map(text),
            children: routes.children().map(|child| (text(child), text(child))).collect(),
        }
    }

    fn next(&self, to: &str, ttl: u32) -> Option<&str> {
        if to == self.realm || ttl <= 1 {
            return None;
        }
        if let Some(child) = walk(&self.children, to) {
            return Some(child);
        }
        if to.strip_prefix(&self.realm).is_some_and(|rest| rest.starts_with('.')) {
            return None;
        }
        self.parent.as_deref()
    }
}

/// What one would write by hand: the labels from the longest prefix to the shortest.
fn walk<'p>(children: &'p HashMap<String, String>, realm: &str) -> Option<&'p String> {
    let labels: Vec<&str> = realm.split('.').collect();
    (1..=labels.len()).rev().find_map(|many| children.get(&labels[..many].join(".")))
}

/// Every child is looked at.
fn scan<'c>(children: &'c [String], realm: &str) -> Option<&'c String> {
    let fits = |child: &&String| {
        realm
            .strip_prefix(child.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    children.iter().filter(fits).max_by_key(|child| child.len())
}

fn is_down(hop: Hop<'_>) -> bool {
    matches!(hop, Hop::Down(..))
}

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

/// The process's resident bytes, where the system tells.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split_ascii_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * rustix::param::page_size()
}
