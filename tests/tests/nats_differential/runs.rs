//! Many runs, several at once.

use std::fmt::Debug;
use std::thread;

use mesh_testkit::differential::Difference;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use tokio::runtime::Builder;

/// Everybody's runs are the same unless asked otherwise: what fails for one fails for the next.
const USUAL_SEED: u64 = 20_261_130;

/// How many runs, and how many of them at once.
pub struct Runs {
    pub cases: u32,
    pub at_once: u32,
}

impl Runs {
    /// Runs what the strategy makes. None may show a difference.
    pub fn pass<T: Debug, S: Strategy<Value = Vec<T>>>(
        &self,
        strategy: impl Fn() -> S + Sync,
        run: impl AsyncFn(&[T]) -> Result<(), Difference> + Sync,
    ) {
        let usual = Config::default();
        // 256 is what proptest says where nobody asks for more.
        let cases = if usual.cases == 256 { self.cases } else { usual.cases };
        let config = Config { max_shrink_time: 120_000, ..config(cases.div_ceil(self.at_once)) };
        let first = match usual.rng_seed {
            RngSeed::Fixed(seed) => seed,
            RngSeed::Random => USUAL_SEED,
        };
        let one = |seed| {
            let config = Config { rng_seed: RngSeed::Fixed(seed), ..config.clone() };
            let (why, steps) = run_all(config, strategy(), &run)?;
            Some(format!("seed {seed}: {why}\n  {}", each(&steps)))
        };
        let one = &one;
        let seeds = first..first + u64::from(self.at_once);
        let failures: Vec<_> = thread::scope(|scope| {
            let all: Vec<_> = seeds.map(|seed| scope.spawn(move || one(seed))).collect();
            all.into_iter().filter_map(|one| one.join().unwrap()).collect()
        });
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }

    /// Runs what the strategy makes, always the same, until one shows a difference, which must be told in
    /// some of these words.
    pub fn notice<T: Debug, S: Strategy<Value = Vec<T>>>(
        &self,
        words: &[&str],
        strategy: impl Fn() -> S,
        run: &impl AsyncFn(&[T]) -> Result<(), Difference>,
    ) {
        let config =
            Config { rng_seed: RngSeed::Fixed(1), max_shrink_iters: 0, ..config(self.cases) };
        let noticed = run_all(config, strategy(), run);
        let (why, _) = noticed.unwrap_or_else(|| panic!("nothing is noticed: {words:?}"));
        assert!(words.iter().any(|words| why.contains(words)), "wanted is {words:?} in: {why}");
    }
}

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        max_global_rejects: cases,
        max_shrink_iters: 10_000,
        ..Config::default()
    }
}

/// The first difference, and the steps that show it.
fn run_all<T: Debug, S: Strategy<Value = Vec<T>>>(
    config: Config,
    strategy: S,
    run: &impl AsyncFn(&[T]) -> Result<(), Difference>,
) -> Option<(String, Vec<T>)> {
    let result = TestRunner::new(config).run(&strategy, |steps| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(&steps)).map_err(|difference| {
            let text = difference.to_string();
            if difference.is_too_slow() {
                TestCaseError::reject(text)
            } else {
                TestCaseError::fail(text)
            }
        })
    });
    match result.err()? {
        TestError::Fail(why, steps) => Some((why.to_string(), steps)),
        TestError::Abort(why) => Some((why.to_string(), Vec::new())),
    }
}

/// Each on a line of its own, to be pasted into a test.
fn each<T: Debug>(steps: &[T]) -> String {
    let lines: Vec<_> = steps.iter().map(|step| format!("{step:?},")).collect();
    lines.join("\n  ")
}
