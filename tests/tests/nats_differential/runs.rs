//! Many runs, several at once.

use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::thread;

use mesh_testkit::differential::Difference;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use tokio::runtime::{Builder, Runtime};

/// How many runs, and how many of them at once.
pub struct Runs {
    pub cases: u32,
    pub at_once: u32,
}

impl Runs {
    /// Runs what the strategy makes, each on a runtime of its own.
    pub fn of<T: Debug, S: Strategy<Value = Vec<T>>>(
        &self,
        strategy: impl Fn() -> S + Sync,
        run: impl Fn(&S::Value, &Runtime) -> Result<(), Difference> + Sync,
    ) {
        let usual = Config::default();
        let first = match usual.rng_seed {
            RngSeed::Fixed(seed) => seed,
            RngSeed::Random => RandomState::new().hash_one(0) >> 16,
        };
        // 256 is what proptest says where nobody asks for more.
        let cases = if usual.cases == 256 { self.cases } else { usual.cases };
        let runs = |seed| runs(seed, cases.div_ceil(self.at_once), strategy(), &run);
        let runs = &runs;
        let failures: Vec<_> = thread::scope(|scope| {
            let all: Vec<_> = (first..first + u64::from(self.at_once))
                .map(|seed| scope.spawn(move || runs(seed)))
                .collect();
            all.into_iter().filter_map(|one| one.join().unwrap()).collect()
        });
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}

fn runs<T: Debug, S: Strategy<Value = Vec<T>>>(
    seed: u64,
    cases: u32,
    strategy: S,
    run: impl Fn(&S::Value, &Runtime) -> Result<(), Difference>,
) -> Option<String> {
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_global_rejects: cases,
        max_shrink_iters: 10_000,
        max_shrink_time: 120_000,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&strategy, |steps| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        run(&steps, &runtime).map_err(|difference| {
            if difference.is_too_slow() {
                TestCaseError::reject(difference.to_string())
            } else {
                TestCaseError::fail(difference.to_string())
            }
        })
    });
    let error = result.err()?;
    Some(match error {
        TestError::Fail(why, steps) => format!("seed {seed}: {why}\n  {}", each(&steps)),
        TestError::Abort(why) => format!("seed {seed}: {why}"),
    })
}

/// Each on a line of its own, to be pasted into a test.
fn each<T: Debug>(steps: &[T]) -> String {
    let lines: Vec<_> = steps.iter().map(|step| format!("{step:?},")).collect();
    lines.join("\n  ")
}
