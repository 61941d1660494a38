//! Benchmarks are ratios: our code and a hand-written baseline take turns in one process, so a
//! machine that slows down slows both. Each benchmark prints one line a comparison; nothing here
//! is a test, and no figure makes a run fail.
//!
//! ```
//! use mesh_benches::Comparison;
//!
//! let report = Comparison::new("sum", 1_000)
//!     .rounds(5)
//!     .run(|| (0..1_000u64).sum::<u64>(), || (1..=1_000u64).rev().sum::<u64>());
//! assert!(report.ratio > 0.0);
//! ```
#![allow(clippy::unwrap_used, reason = "a benchmark may fail loudly")]

pub mod amqp;
pub mod envelope;
pub mod hops;
pub mod nats;
pub mod race;

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Two pieces of work that do the same job, timed in turn.
#[derive(Debug, Clone)]
pub struct Comparison {
    name: String,
    items: u32,
    rounds: usize,
}

/// What a [`Comparison`] found: medians over its rounds.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was compared.
    pub name: String,
    /// Nanoseconds an item, baseline.
    pub baseline_ns: f64,
    /// Nanoseconds an item, ours.
    pub ours_ns: f64,
    /// Median over the rounds of ours ÷ baseline: below 1 we are faster.
    pub ratio: f64,
    /// The lowest and highest ratio of a round.
    pub spread: (f64, f64),
}

impl Comparison {
    /// A comparison of work that handles `items` items each time it is called.
    #[must_use]
    pub fn new(name: impl Into<String>, items: u32) -> Self {
        Self { name: name.into(), items, rounds: 21 }
    }

    /// How many rounds to take, after one that does not count. 21 unless told.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds.max(1);
        self
    }

    /// Times `baseline` and `ours` in turn; who goes first changes every round.
    pub fn run<A, B>(
        &self,
        mut baseline: impl FnMut() -> A,
        mut ours: impl FnMut() -> B,
    ) -> Report {
        let mut pairs = Vec::with_capacity(self.rounds);
        for round in 0..=self.rounds {
            let pair = if round % 2 == 0 {
                let a = time(&mut baseline);
                (a, time(&mut ours))
            } else {
                let b = time(&mut ours);
                (time(&mut baseline), b)
            };
            if round > 0 {
                pairs.push(pair);
            }
        }
        let per_item = |d: Duration| d.as_secs_f64() * 1e9 / f64::from(self.items.max(1));
        let ratios: Vec<f64> =
            pairs.iter().map(|(a, b)| b.as_secs_f64() / a.as_secs_f64()).collect();
        Report {
            name: self.name.clone(),
            baseline_ns: median(pairs.iter().map(|(a, _)| per_item(*a)).collect()),
            ours_ns: median(pairs.iter().map(|(_, b)| per_item(*b)).collect()),
            spread: (
                ratios.iter().copied().fold(f64::INFINITY, f64::min),
                ratios.iter().copied().fold(0.0, f64::max),
            ),
            ratio: median(ratios),
        }
    }
}

fn time<T>(work: &mut impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<44} ours {:>10.1} ns   baseline {:>10.1} ns   ratio {:>6.3} ({:.3} to {:.3})",
            self.name, self.ours_ns, self.baseline_ns, self.ratio, self.spread.0, self.spread.1
        )
    }
}
