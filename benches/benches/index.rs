//! The filter index against a scan of all filters and against a plain trie, ten hits a match.
//!
//! `spread`: ten filters for each of many subjects, most with `*` in the first two levels, none
//! held twice. `mesh`: each event has eight subscribers of its own name and two of a pattern that
//! also takes others.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::collections::HashMap;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use mesh_benches::Comparison;
use mesh_core::index::{EntryId, FilterIndex};
use mesh_core::subject::{Filter, Subject};

const HITS: usize = 10;

type Error = Box<dyn std::error::Error>;

/// A kind of filters, and the subject that ten of them match.
#[derive(Clone, Copy)]
struct Workload {
    name: &'static str,
    filter: fn(usize, usize) -> String,
    subject: fn(usize) -> String,
}

const WORKLOADS: [Workload; 2] = [
    Workload { name: "spread", filter: spread_filter, subject: spread_subject },
    Workload { name: "mesh", filter: mesh_filter, subject: mesh_subject },
];

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().collect();
    if let [_, command, name, count] = args.as_slice()
        && command == "memory"
    {
        let workload = WORKLOADS.iter().find(|workload| workload.name == name);
        println!("{}", memory(*workload.ok_or("no such workload")?, count.parse()?)?);
        return Ok(());
    }
    for workload in WORKLOADS {
        for count in [10, 1_000, 100_000, 1_000_000] {
            run(workload, count)?;
        }
    }
    Ok(())
}

/// `at` below [`HITS`]: the filters that match the subject of `group`.
fn spread_filter(group: usize, at: usize) -> String {
    let (a, b, c, d) = (group % 100, group / 7 % 1_000, group, group % 16);
    match at {
        0 => format!("region-{a}.module-{b}.order-{c}.step-{d}"),
        1 => format!("*.module-{b}.order-{c}.step-{d}"),
        2 => format!("region-{a}.*.order-{c}.step-{d}"),
        3 => format!("*.*.order-{c}.step-{d}"),
        4 => format!("region-{a}.module-{b}.order-{c}.>"),
        5 => format!("*.module-{b}.order-{c}.>"),
        6 => format!("region-{a}.*.order-{c}.>"),
        7 => format!("*.*.order-{c}.>"),
        8 => format!("region-{a}.module-{b}.order-{c}.*"),
        _ => format!("*.*.order-{c}.*"),
    }
}

fn spread_subject(group: usize) -> String {
    spread_filter(group, 0)
}

fn mesh_filter(group: usize, at: usize) -> String {
    match at {
        0..8 => mesh_subject(group),
        8 => format!("mesh.events.module-{}.thing-{group}.>", group % 500),
        _ => format!("mesh.events.*.thing-{group}.*"),
    }
}

fn mesh_subject(group: usize) -> String {
    format!("mesh.events.module-{}.thing-{group}.changed", group % 500)
}

impl Workload {
    /// All filters in no particular order, each with a number.
    fn filters(self, count: usize) -> impl Iterator<Item = Result<(Filter, u32), Error>> {
        shuffled(count).into_iter().map(move |n| {
            let text = (self.filter)(n as usize / HITS, n as usize % HITS);
            Ok((Filter::new(text)?, n))
        })
    }

    fn index(self, count: usize) -> Result<FilterIndex<u32>, Error> {
        let mut index = FilterIndex::new();
        for filter in self.filters(count) {
            let (filter, value) = filter?;
            index.add(&filter, value)?;
        }
        Ok(index)
    }
}

/// Bytes a filter, in a process that holds nothing else.
fn memory(workload: Workload, count: usize) -> Result<f64, Error> {
    drop(workload.index(10)?);
    let before = resident();
    let index = workload.index(count)?;
    let after = resident();
    Ok(after.saturating_sub(before) as f64 / index.len() as f64)
}

fn run(workload: Workload, count: usize) -> Result<(), Error> {
    let index = workload.index(count)?;
    let list: Vec<(Filter, u32)> = workload.filters(count).collect::<Result<_, _>>()?;
    let subjects: Vec<Subject> = shuffled(count / HITS)
        .into_iter()
        .map(|group| Subject::new((workload.subject)(group as usize)))
        .collect::<Result<_, _>>()?;

    // Both go through the subjects bit by bit, so that no round finds its own in a warm cache.
    let (items, rounds) = match count {
        10 => (10_000, 21),
        1_000 => (1_000, 21),
        100_000 => (100, 11),
        _ => (50, 5),
    };
    let (mut scans, mut matches) = (subjects.iter().cycle(), subjects.iter().cycle());
    let name = format!("{}, {count} filters", workload.name);
    let report = Comparison::new(name, items).rounds(rounds).run(
        || {
            let mut hits = 0;
            for subject in scans.by_ref().take(items as usize) {
                hits += list.iter().filter(|(f, _)| f.matches(subject)).count();
            }
            assert_eq!(hits, HITS * items as usize);
        },
        || {
            let mut hits = 0;
            for subject in matches.by_ref().take(items as usize) {
                index.for_each_match(subject, |value| {
                    black_box(value);
                    hits += 1;
                });
            }
            assert_eq!(hits, HITS * items as usize);
        },
    );
    println!("{report}");

    drop(list);

    // Without the scan, which empties the caches in between.
    let mut trie = Trie::default();
    for filter in workload.filters(count) {
        let (filter, value) = filter?;
        trie.add(&filter, value);
    }
    let (mut theirs, mut ours) = (subjects.iter().cycle(), subjects.iter().cycle().skip(500));
    let report = Comparison::new("    and a plain trie", 500).rounds(1_000).run(
        || {
            for subject in theirs.by_ref().take(500) {
                trie.for_each_match(subject, &mut |value| {
                    black_box(value);
                });
            }
        },
        || {
            for subject in ours.by_ref().take(500) {
                index.for_each_match(subject, |value| {
                    black_box(value);
                });
            }
        },
    );
    println!("{report}");
    drop(trie);
    if count >= 100_000 {
        let program = std::env::current_exe()?;
        let args = ["memory", workload.name, &count.to_string()];
        let output = Command::new(program).args(args).output()?;
        let bytes: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
        println!("    memory        {bytes:>10.1} bytes a filter");
    }
    churn(index, workload, count)
}

/// Adds and removes again, beside all that the index holds.
fn churn(mut index: FilterIndex<u32>, workload: Workload, count: usize) -> Result<(), Error> {
    let list = workload.filters(count.min(51_000));
    let list: Vec<(Filter, u32)> = list.collect::<Result<_, _>>()?;
    let mut filters = list.iter().cycle();
    let mut ids: Vec<EntryId> = Vec::with_capacity(1_000);
    let (mut adds, mut removals) = (Vec::new(), Vec::new());
    for _ in 0..51 {
        let fresh = filters.by_ref().take(1_000).enumerate();
        let fresh = fresh.map(|(at, (filter, _))| {
            Filter::new(filter.as_str().replacen('-', &format!("-{at}+"), 1))
        });
        let fresh: Vec<Filter> = fresh.collect::<Result<_, _>>()?;
        let mut fresh = fresh.iter();
        adds.push(nanoseconds(1_000, || {
            ids.extend(fresh.next().and_then(|filter| index.add(filter, 0).ok()));
        }));
        removals.push(nanoseconds(1_000, || {
            black_box(ids.pop().and_then(|id| index.remove(id)));
        }));
    }
    println!("    add           {:>10.1} ns", median(adds));
    println!("    remove        {:>10.1} ns", median(removals));
    Ok(())
}

/// What one would write first: numbered tokens, and a node with a map for each beginning.
#[derive(Default)]
struct Trie {
    tokens: HashMap<Box<str>, u32>,
    root: TrieNode,
}

#[derive(Default)]
struct TrieNode {
    below: HashMap<u32, TrieNode>,
    star: Option<Box<TrieNode>>,
    tail: Vec<u32>,
    here: Vec<u32>,
}

impl Trie {
    fn add(&mut self, filter: &Filter, value: u32) {
        let mut node = &mut self.root;
        for token in filter.tokens() {
            node = match token {
                ">" => return node.tail.push(value),
                "*" => node.star.get_or_insert_default(),
                token => {
                    let next = self.tokens.len() as u32;
                    let token = *self.tokens.entry(token.into()).or_insert(next);
                    node.below.entry(token).or_default()
                }
            };
        }
        node.here.push(value);
    }

    fn for_each_match(&self, subject: &Subject, visit: &mut impl FnMut(&u32)) {
        let tokens = subject.tokens().map(|token| self.tokens.get(token).copied());
        self.root.walk(&tokens.collect::<Vec<_>>(), visit);
    }
}

impl TrieNode {
    fn walk(&self, tokens: &[Option<u32>], visit: &mut impl FnMut(&u32)) {
        let Some((token, rest)) = tokens.split_first() else {
            return self.here.iter().for_each(visit);
        };
        self.tail.iter().for_each(&mut *visit);
        let star = self.star.as_deref();
        let below = token.and_then(|token| self.below.get(&token));
        for node in star.into_iter().chain(below) {
            node.walk(rest, visit);
        }
    }
}

fn nanoseconds(times: u32, mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        work();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(times)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Bytes of this process in memory; 0 where the system doesn't say.
fn resident() -> usize {
    const PAGE: usize = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * PAGE
}

/// `0..count`, in the same disorder on every run.
fn shuffled(count: usize) -> Vec<u32> {
    let mut values: Vec<u32> = (0..count as u32).collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for at in (1..count).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        values.swap(at, (state % (at as u64 + 1)) as usize);
    }
    values
}
