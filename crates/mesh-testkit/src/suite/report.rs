use std::fmt;

use mesh_core::port::Capability;

use super::Hook;

/// How one case came out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a report has these rows and no others")]
pub enum Outcome {
    /// The bullet holds.
    Passed,
    /// The capability is not declared, and what should hold then holds: `Unsupported`, mostly.
    Refused(Capability),
    /// The capability is not declared, so the bullet does not apply.
    Skipped(Capability),
    /// The harness can't do what the case needs done.
    Untried(Hook),
    /// The bullet does not hold, and why.
    Failed(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Refused(capability) => {
                write!(f, "passed: without {capability:?} it is refused")
            }
            Self::Skipped(capability) => write!(f, "skipped: {capability:?} is not declared"),
            Self::Untried(hook) => write!(f, "skipped: {hook}"),
            Self::Failed(why) => write!(f, "FAILED: {why}"),
        }
    }
}

/// How each case came out, in the order of the contract. `Display` is a table with the
/// [`summary`](Self::summary) below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub(crate) rows: Vec<(&'static str, Outcome)>,
}

impl Report {
    /// Each case's name and outcome.
    #[must_use]
    pub fn rows(&self) -> &[(&'static str, Outcome)] {
        &self.rows
    }

    /// How that case came out.
    #[must_use]
    pub fn outcome(&self, case: &str) -> Option<&Outcome> {
        let row = self.rows.iter().find(|(name, _)| *name == case);
        row.map(|(_, outcome)| outcome)
    }

    /// Those that failed.
    pub fn failures(&self) -> impl Iterator<Item = &'static str> {
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
        let rows = self.rows.iter();
        rows.filter(move |(_, outcome)| failed(outcome)).map(|(name, _)| *name)
    }

    /// How many came out which way, in one line: `26 passed, 6 refused as undeclared, 96 skipped, 0 failed`.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut counts = [0; 4];
        for (_, outcome) in &self.rows {
            let kind = match outcome {
                Outcome::Passed => 0,
                Outcome::Refused(_) => 1,
                Outcome::Skipped(_) | Outcome::Untried(_) => 2,
                Outcome::Failed(_) => 3,
            };
            counts[kind] += 1;
        }
        let [passed, refused, skipped, failed] = counts;
        format!(
            "{passed} passed, {refused} refused as undeclared, {skipped} skipped, {failed} failed"
        )
    }

    /// For a test: passes if no case failed.
    ///
    /// # Panics
    /// With the whole table, if one did.
    #[track_caller]
    #[expect(clippy::panic, reason = "it is an assertion of a test")]
    pub fn assert(&self) {
        if self.failures().next().is_some() {
            panic!("the transport does not keep its contract\n{self}");
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|(name, _)| name.len()).max();
        let width = width.unwrap_or_default();
        for (name, outcome) in &self.rows {
            writeln!(f, "{name:width$}  {outcome}")?;
        }
        f.write_str(&self.summary())
    }
}
