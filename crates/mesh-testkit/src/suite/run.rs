use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use mesh_core::port::Capability;

use super::case::Run;
use super::{Case, Harness, Outcome, Report, Stage};

/// Runs every case, one after another.
pub async fn run(harness: &dyn Harness) -> Report {
    let mut rows = Vec::new();
    for case in cases() {
        rows.push((case.name(), run_case(harness, &case).await));
    }
    Report { rows }
}

/// Every case, in the order of the contract.
pub fn cases() -> impl Iterator<Item = Case> {
    crate::cases::all()
}

/// Runs one case, within the harness's deadline.
pub async fn run_case(harness: &dyn Harness, case: &Case) -> Outcome {
    let (run, kept) = match plan(harness, case) {
        Ok(planned) => planned,
        Err(skipped) => return skipped,
    };
    let stage = Stage::new(harness);
    // A transport that panics fails its case, not the suite.
    let proof = AssertUnwindSafe(run(&stage)).catch_unwind();
    let outcome = match tokio::time::timeout(harness.deadline(), proof).await {
        Ok(Ok(Ok(()))) => kept,
        Ok(Ok(Err(failure))) => Outcome::Failed(failure.to_string()),
        Ok(Err(panic)) => Outcome::Failed(format!("panicked: {}", text_of(panic.as_ref()))),
        Err(_) => Outcome::Failed(format!("hung for {:?}", harness.deadline())),
    };
    stage.end().await;
    outcome
}

/// What of `case` is run, and what it is called when it holds; or what it is called if nothing is.
pub(crate) fn plan(harness: &dyn Harness, case: &Case) -> Result<(Run, Outcome), Outcome> {
    match missing(harness, case) {
        Some((capability, applies)) => match case.otherwise.filter(|_| applies) {
            Some(otherwise) => Ok((otherwise, Outcome::Refused(capability))),
            None => Err(Outcome::Skipped(capability)),
        },
        None => match case.hook.filter(|hook| !harness.offers(*hook)) {
            Some(hook) => Err(Outcome::Untried(hook)),
            None => Ok((case.run, Outcome::Passed)),
        },
    }
}

/// The capability that `case` lacks, and whether its other half applies: without its port, only
/// the one case that proves the whole port's absence does.
fn missing(harness: &dyn Harness, case: &Case) -> Option<(Capability, bool)> {
    let promised = harness.promised();
    let lacks = |capability: &Capability| !promised.contains(capability);
    let port = case.port.filter(lacks).map(|port| (port, case.needs.is_none()));
    port.or_else(|| case.needs.filter(lacks).map(|needs| (needs, true)))
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a text")
}
