//! What `mesh bus adopt` answers.

use std::fmt;

use mesh_control::adoption::{Claim, Routed, Touched, Unfit};
use mesh_core::text::Printable;
use serde::Serialize;

use crate::shell::Answer;
use crate::shell::style::{ERROR, FAINT, GOOD, HINT};

/// The answer, by the keys that `docs/adoption.md` lists.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    pub(super) good: bool,
    /// What was to be done.
    phase: Phase,
    /// What stands against it.
    reasons: Vec<Reason>,
    /// Who has the seat, where somebody has.
    #[serde(skip_serializing_if = "Option::is_none")]
    seat: Option<String>,
    /// Files that were written.
    files: Vec<String>,
    /// What to do next, in this order.
    next: Vec<String>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Phase {
    Prepare,
    Take,
    Verify,
}

#[derive(Debug, Serialize)]
struct Reason {
    code: &'static str,
    message: String,
    hint: String,
}

impl Told {
    pub(super) fn of(phase: Phase) -> Self {
        let (reasons, files, next) = (Vec::new(), Vec::new(), Vec::new());
        Self { good: true, phase, reasons, seat: None, files, next }
    }

    /// With one more reason against it.
    pub(super) fn against(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.good = false;
        self.reasons.push(Reason { code, message: message.into(), hint: hint.into() });
    }

    pub(super) fn unfit(&mut self, found: &[Unfit]) {
        for unfit in found {
            self.against(unfit.code(), unfit.to_string(), unfit.hint());
        }
    }

    pub(super) fn touched(&mut self, found: &[Touched]) {
        for touched in found {
            let hint =
                "find out who did that: the mesh's accounts have no right to anything of others";
            self.against("touched", touched.to_string(), hint);
        }
    }

    pub(super) fn routed(&mut self, found: &[Routed]) {
        for routed in found {
            let hint = match routed {
                Routed::NoAccount(_) => {
                    "have the server read its file again, with the mesh's accounts in it"
                }
                _ => "a bus that is adopted carries nothing yet: let the mesh stay where it is",
            };
            self.against("routed", routed.to_string(), hint);
        }
    }

    /// Who has the seat.
    pub(super) fn seated(&mut self, kept: &str) {
        self.seat = Some(shown(kept));
    }

    pub(super) fn wrote(&mut self, file: impl fmt::Display) {
        self.files.push(file.to_string());
    }

    pub(super) fn then(&mut self, step: impl Into<String>) {
        self.next.push(step.into());
    }
}

/// What is kept of a claim, as it is told.
pub(super) fn shown(kept: &str) -> String {
    Claim::read(kept).map_or_else(|_| kept.to_owned(), |claim| claim.to_string())
}

impl Answer for Told {
    const SCHEMA: &'static str = "mesh.bus.adopt/1";
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Reason { code, message, hint } in &self.reasons {
            writeln!(f, "{ERROR}{code}{ERROR:#}: {}", Printable(message))?;
            writeln!(f, "  {HINT}hint{HINT:#}: {}", Printable(hint))?;
        }
        for file in &self.files {
            writeln!(f, "{FAINT}wrote{FAINT:#} {}", Printable(file))?;
        }
        if let Some(seat) = &self.seat {
            writeln!(f, "the seat mesh-broker is held by {}", Printable(seat))?;
        }
        match (self.phase, self.good) {
            (Phase::Prepare, true) => writeln!(f, "{GOOD}nothing is in the way{GOOD:#}")?,
            (Phase::Prepare, false) => writeln!(f, "{ERROR}it can't be adopted here{ERROR:#}")?,
            (Phase::Take, true) => writeln!(f, "{GOOD}adopted{GOOD:#}: nothing is routed to it")?,
            (Phase::Take, false) => writeln!(f, "{ERROR}not adopted{ERROR:#}")?,
            (Phase::Verify, true) => {
                writeln!(f, "{GOOD}adopted{GOOD:#}: nothing is routed to it")?;
            }
            (Phase::Verify, false) => writeln!(f, "{ERROR}it does not hold{ERROR:#}")?,
        }
        for (number, step) in self.next.iter().enumerate() {
            writeln!(f, "{}. {}", number + 1, Printable(step))?;
        }
        Ok(())
    }
}
