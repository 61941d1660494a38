use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use super::run::plan;
use super::{Case, Harness, Outcome, cases, run_case};

/// The `main` of a test binary with `harness = false`: each case of each harness is a test of its
/// own, `<name>::<case>`, with the arguments of `cargo test`. A case that does not apply shows as
/// ignored, with the reason in its name.
#[must_use]
pub fn main(harnesses: Vec<(&'static str, Arc<dyn Harness>)>) -> ExitCode {
    let trials = harnesses.into_iter().flat_map(|(name, harness)| {
        cases().map(move |case| trial(name, Arc::clone(&harness), case))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn trial(name: &str, harness: Arc<dyn Harness>, case: Case) -> Trial {
    let mut name = format!("{name}::{}", case.name());
    let skipped = plan(&*harness, &case).err();
    if let Some(outcome) = &skipped {
        name = format!("{name} ({outcome})");
    }
    let test = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        match runtime.block_on(run_case(&*harness, &case)) {
            Outcome::Failed(why) => Err(Failed::from(why)),
            _ => Ok(()),
        }
    };
    Trial::test(name, test).with_ignored_flag(skipped.is_some())
}
