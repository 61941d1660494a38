//! The transport suite: every bullet of the ports' contracts as a case.

mod case;
mod failure;
mod harness;
mod main;
mod report;
mod run;
pub(crate) mod scene;
mod stage;

pub use case::Case;
pub use failure::Failure;
pub use harness::{Bed, Harness, Hook, HookError, StartError};
pub use main::main;
pub use report::{Outcome, Report};
pub use run::{cases, run, run_case};

pub(crate) use case::{Verdict, case};
pub(crate) use failure::{ensure, ensure_eq, located};
pub(crate) use scene::Scene;
pub(crate) use stage::Stage;
