//! The filter index against a scan of all filters, ten hits a match.
//!
//! `spread`: ten filters for each of many subjects, most with `*` in the first two levels, none
//! held twice. `mesh`: each event has eight subscribers of its own name and two of a pattern that
//! also takes others.

use std::hint::black_box;
use std::time::Instant;

use mesh_benches::Comparison;
use mesh_core::index::{EntryId, FilterIndex};
use mesh_core::subject::{Filter, Subject};

const HITS: usize = 10;

type Make = fn(usize, usize) -> String;

fn main() {
    for (name, filter, subject) in [
        (
            "spread",
            spread_filter as Make,
            spread_subject as fn(usize) -> String,
        ),
        ("mesh", mesh_filter, mesh_subject),
    ] {
        for count in [10, 1_000, 100_000, 1_000_000] {
            run(name, count, filter, subject);
        }
    }
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

fn run(name: &str, count: usize, filter: Make, subject: fn(usize) -> String) {
    let groups = count / HITS;
    let numbered = || {
        let mut order: Vec<u32> = (0..count as u32).collect();
        shuffle(&mut order);
        order.into_iter().map(move |n| {
            let n = n as usize;
            (Filter::new(filter(n / HITS, n % HITS)).unwrap(), n as u32)
        })
    };

    let before = resident();
    let mut index = FilterIndex::new();
    for (filter, value) in numbered() {
        index.add(&filter, value).unwrap();
    }
    let bytes = (resident() - before) as f64 / count as f64;

    let list: Vec<(Filter, u32)> = numbered().collect();
    let mut order: Vec<u32> = (0..groups as u32).collect();
    shuffle(&mut order);
    let subjects: Vec<Subject> = (0..groups.max(64))
        .map(|at| Subject::new(subject(order[at % groups] as usize)).unwrap())
        .collect();

    // Both go through the subjects bit by bit, so that no round finds its own in a warm cache.
    let (items, rounds) = match count {
        10 => (10_000, 21),
        1_000 => (1_000, 21),
        100_000 => (100, 11),
        _ => (50, 5),
    };
    let (mut scans, mut matches) = (subjects.iter().cycle(), subjects.iter().cycle());
    let report = Comparison::new(format!("{name}, {count} filters"), items)
        .rounds(rounds)
        .run(
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

    let passes: Vec<f64> = (0..7)
        .map(|_| {
            let mut subjects = subjects.iter().cycle();
            nanoseconds(100_000, || {
                if let Some(subject) = subjects.next() {
                    index.for_each_match(subject, |value| {
                        black_box(value);
                    });
                }
            })
        })
        .collect();
    println!(
        "    matching only                    {:>10.1} ns",
        median(passes)
    );
    if count >= 100_000 {
        println!("    memory, resident                 {bytes:>10.1} bytes a filter");
    }
    churn(&mut index, &list);
}

/// Adds and removes again, beside all that the index holds.
fn churn(index: &mut FilterIndex<u32>, list: &[(Filter, u32)]) {
    let mut filters = list.iter().cycle();
    let mut ids: Vec<EntryId> = Vec::with_capacity(1_000);
    let (mut adds, mut removals) = (Vec::new(), Vec::new());
    for _ in 0..21 {
        let fresh: Vec<Filter> = filters
            .by_ref()
            .take(1_000)
            .enumerate()
            .map(|(at, (filter, _))| {
                let text = filter.as_str().replacen('-', &format!("-{at}+"), 1);
                Filter::new(text).unwrap()
            })
            .collect();
        let mut fresh = fresh.iter();
        adds.push(nanoseconds(1_000, || {
            ids.extend(fresh.next().and_then(|filter| index.add(filter, 0).ok()));
        }));
        removals.push(nanoseconds(1_000, || {
            black_box(ids.pop().and_then(|id| index.remove(id)));
        }));
    }
    println!(
        "    add                              {:>10.1} ns",
        median(adds)
    );
    println!(
        "    remove                           {:>10.1} ns",
        median(removals)
    );
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

/// The same order on every run.
fn shuffle(values: &mut [u32]) {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for at in (1..values.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        values.swap(at, (state % (at as u64 + 1)) as usize);
    }
}
