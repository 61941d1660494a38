//! The suite of stores of shared state: every bullet of
//! [`KeyValue`](mesh_core::store::KeyValue) as a case.
//!
//! ```
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use mesh_core::store::{BucketName, KeyValue};
//! use mesh_testkit::state::{self, StateBed, StateHarness};
//! use mesh_testkit::suite::{Outcome, StartError};
//!
//! struct Mine;
//!
//! #[async_trait]
//! impl StateHarness for Mine {
//!     async fn start(&self) -> Result<Arc<dyn StateBed>, StartError> {
//!         Err("a store of one's own is started here".into())
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let report = state::run(&Mine).await;
//! let tried = report.rows().iter().filter(|(_, outcome)| !matches!(outcome, Outcome::Untried(_)));
//! assert_eq!(report.failures().count(), tried.count());
//! # });
//! ```

mod bench;
mod cases;
mod harness;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

use crate::suite::{Outcome, Report, Verdict};

use bench::Bench;
pub use harness::{StateBed, StateHarness, StateHook};

type Run = for<'a> fn(&'a Bench) -> std::pin::Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// One bullet of the contract and its proof.
#[derive(Clone, Copy)]
pub struct StateCase {
    name: &'static str,
    hook: Option<StateHook>,
    run: Run,
}

impl StateCase {
    /// The name: the first word of the bullet.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What its harness must be able to do beyond starting a store.
    #[must_use]
    pub fn hook(&self) -> Option<StateHook> {
        self.hook
    }
}

impl std::fmt::Debug for StateCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateCase")
            .field("name", &self.name)
            .field("hook", &self.hook)
            .finish_non_exhaustive()
    }
}

/// A case named like its function, perhaps with what it needs.
macro_rules! case {
    ($run:ident) => {
        $crate::state::StateCase {
            name: stringify!($run),
            hook: None,
            run: |bench| Box::pin($run(bench)),
        }
    };
    ($run:ident, by $hook:ident) => {
        $crate::state::StateCase { hook: Some($crate::state::StateHook::$hook), ..case!($run) }
    };
}

use case;

/// Every case, in the order of the contract.
pub fn cases() -> impl Iterator<Item = StateCase> {
    cases::GROUPS.iter().flat_map(|group| group.iter().copied())
}

/// Runs every case, one after another, each with a store of its own.
///
/// Cases that need what the harness does not offer are shown as
/// [`Untried`](Outcome::Untried) and are not run.
pub async fn run(harness: &dyn StateHarness) -> Report {
    let mut rows = Vec::new();
    for case in cases() {
        rows.push((case.name, run_case(harness, &case).await));
    }
    Report { rows }
}

/// Runs one case.
pub async fn run_case(harness: &dyn StateHarness, case: &StateCase) -> Outcome {
    if let Some(hook) = case.hook.filter(|hook| !harness.offers(*hook)) {
        return Outcome::Untried(hook.into());
    }
    let bed = match harness.start().await {
        Ok(bed) => bed,
        Err(error) => return Outcome::Failed(format!("no store: {error}")),
    };
    let bench = Bench::new(bed, harness.lifetime(), harness.patience());
    let running = AssertUnwindSafe((case.run)(&bench)).catch_unwind();
    let verdict = tokio::time::timeout(harness.patience() * 6, running).await;
    bench.stop().await;
    match verdict {
        Ok(Ok(Ok(()))) => Outcome::Passed,
        Ok(Ok(Err(failure))) => Outcome::Failed(failure.to_string()),
        Ok(Err(_)) => Outcome::Failed("it panicked".to_owned()),
        Err(_) => Outcome::Failed("it hangs".to_owned()),
    }
}
