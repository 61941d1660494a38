//! Work over a network, run in turn by several contestants: how fast, at what price in CPU time of this
//! process, and at what price in that of the server beside it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, fs};

use rustix::time::{ClockId, clock_gettime};

use crate::median;

/// The server's process; 0 for none.
static BESIDE: AtomicU32 = AtomicU32::new(0);

/// Measures the CPU time of this process from now on, too: the server's.
pub fn beside(pid: u32) {
    BESIDE.store(pid, Ordering::Relaxed);
}

/// Measures one lap, from [`start`](Self::start) to [`stop`](Self::stop). What a contestant prepares
/// before and clears away after is not in it.
#[derive(Debug)]
pub struct Stopwatch {
    began: Instant,
    cpu: Duration,
    server: Duration,
}

/// What one contestant took once.
#[derive(Debug, Clone, Default)]
pub struct Lap {
    /// By the wall's clock.
    pub wall: Duration,
    /// Of this process, all threads together.
    pub cpu: Duration,
    /// Of the server's, where the system tells.
    pub server: Duration,
    /// How long each item took, where that is of interest.
    pub latencies: Vec<Duration>,
}

impl Stopwatch {
    /// Begins a lap.
    #[must_use]
    pub fn start() -> Self {
        Self { server: server_cpu(), cpu: cpu(), began: Instant::now() }
    }

    /// Ends it.
    #[must_use]
    pub fn stop(self) -> Lap {
        let wall = self.began.elapsed();
        let cpu = cpu().saturating_sub(self.cpu);
        let server = server_cpu().saturating_sub(self.server);
        Lap { wall, cpu, server, latencies: Vec::new() }
    }
}

/// What the server's threads have taken, as Linux tells it. One that has ended is not counted any more.
fn server_cpu() -> Duration {
    let pid = BESIDE.load(Ordering::Relaxed);
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let spent = threads.filter_map(|thread| {
        let told = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        told.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(spent.sum())
}

fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(spent.tv_sec).unwrap_or_default(),
        u32::try_from(spent.tv_nsec).unwrap_or_default(),
    )
}

impl Lap {
    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1) as f64;
        sorted.get((last * share) as usize).map_or(f64::NAN, |found| found.as_secs_f64() * 1e6)
    }
}

/// One of those who do the same work in turn.
pub struct Contestant<'a> {
    name: &'static str,
    lap: Box<dyn FnMut() -> Lap + 'a>,
}

impl<'a> Contestant<'a> {
    /// `lap` does the work once.
    pub fn new(name: &'static str, lap: impl FnMut() -> Lap + 'a) -> Self {
        Self { name, lap: Box::new(lap) }
    }
}

impl fmt::Debug for Contestant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contestant").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A race of ours against others.
#[derive(Debug)]
pub struct Race {
    name: &'static str,
    items: u32,
    rounds: usize,
    only: Option<String>,
}

impl Race {
    /// A race over work that handles `items` items each time. 21 rounds, unless the environment's
    /// `MESH_BENCH_ROUNDS` names another number. Under a profiler, `MESH_BENCH_RACE` is the beginning of
    /// the one race that is to run, and `MESH_BENCH_ONLY` the one contestant.
    #[must_use]
    pub fn new(name: &'static str, items: u32) -> Self {
        let told = std::env::var("MESH_BENCH_ROUNDS").ok().and_then(|text| text.parse().ok());
        let only = std::env::var("MESH_BENCH_ONLY").ok();
        Self { name, items, rounds: told.unwrap_or(21).max(1), only }
    }

    /// Runs it, after one round that does not count; who goes first changes every round. The first
    /// contestant is ours; the answer compares it with each of the others.
    pub fn run(&self, contestants: &mut [Contestant<'_>]) -> Vec<Standing> {
        let told = std::env::var("MESH_BENCH_RACE").unwrap_or_default();
        if !self.name.starts_with(&told) {
            return Vec::new();
        }
        let mut laps: Vec<Vec<Lap>> = vec![Vec::new(); contestants.len()];
        for round in 0..=self.rounds {
            for turn in 0..contestants.len() {
                let who = (turn + round) % contestants.len();
                let contestant = &mut contestants[who];
                if self.only.as_ref().is_some_and(|only| only != contestant.name) {
                    continue;
                }
                let lap = (contestant.lap)();
                if round > 0 {
                    laps[who].push(lap);
                }
            }
        }
        let Some((ours, others)) = laps.split_first() else { return Vec::new() };
        let names = contestants.iter().skip(1).map(|contestant| contestant.name);
        let standings = others.iter().zip(names);
        standings.map(|(theirs, rival)| self.standing(rival, ours, theirs)).collect()
    }

    fn standing(&self, rival: &'static str, ours: &[Lap], theirs: &[Lap]) -> Standing {
        let items = f64::from(self.items);
        let rate = |lap: &Lap| items / lap.wall.as_secs_f64();
        let cpu = |lap: &Lap| lap.cpu.as_secs_f64() * 1e5 / items;
        let server = |lap: &Lap| lap.server.as_secs_f64() * 1e5 / items;
        let compare = |figure: &dyn Fn(&Lap) -> f64| Figure::of(ours, theirs, figure);
        let timed = ours.iter().any(|lap| !lap.latencies.is_empty());
        Standing {
            name: self.name,
            rival,
            rate: compare(&rate),
            cpu: compare(&cpu),
            server: compare(&server),
            latency: timed
                .then(|| [compare(&|lap| lap.quantile(0.5)), compare(&|lap| lap.quantile(0.99))]),
        }
    }
}

/// A figure of both, each the median over the rounds, and the rounds' ratios, ours ÷ theirs.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Ours.
    pub ours: f64,
    /// Theirs.
    pub theirs: f64,
    /// The median of the rounds' ratios.
    pub ratio: f64,
    /// The quarter points of the rounds' ratios: half of them lie between.
    pub middle: (f64, f64),
}

impl Figure {
    fn of(ours: &[Lap], theirs: &[Lap], figure: &dyn Fn(&Lap) -> f64) -> Self {
        let all = |laps: &[Lap]| laps.iter().map(figure).collect::<Vec<_>>();
        let (ours, theirs) = (all(ours), all(theirs));
        let mut ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a / b).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |share: usize| ratios.get(ratios.len() * share / 4).copied().unwrap_or(f64::NAN);
        Self {
            middle: (at(1), at(3)),
            ratio: median(ratios.clone()),
            ours: median(ours),
            theirs: median(theirs),
        }
    }
}

/// How ours stands to one other.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    /// The race.
    pub name: &'static str,
    /// The other.
    pub rival: &'static str,
    /// Items a second: above 1 we are faster.
    pub rate: Figure,
    /// Seconds of CPU time for 100,000 items: below 1 we are cheaper.
    pub cpu: Figure,
    /// The same of the server.
    pub server: Figure,
    /// Half of the items, and 99 of 100, took at most so many microseconds.
    pub latency: Option<[Figure; 2]>,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, rival, rate, cpu, server, latency } = self;
        write!(f, "{name:<26} {rival:<16}")?;
        let mut show = |title: &str, unit: f64, figure: &Figure| {
            let Figure { ours, theirs, ratio, middle } = figure;
            let (ours, theirs) = (ours * unit, theirs * unit);
            let (low, high) = middle;
            write!(f, "  {title} {ours:.2} : {theirs:.2} = {ratio:.3} ({low:.3} to {high:.3})")
        };
        show("k/s", 1e-3, rate)?;
        show("CPU s/10^5", 1.0, cpu)?;
        show("server", 1.0, server)?;
        if let Some([half, most]) = latency {
            show("p50 us", 1.0, half)?;
            show("p99 us", 1.0, most)?;
        }
        Ok(())
    }
}
