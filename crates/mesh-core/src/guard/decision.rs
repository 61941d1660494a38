use std::borrow::Cow;
use std::fmt;

use super::{Mode, Refusal};
use crate::mx::MsgType;

/// What the chain decided about one message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct Decision {
    /// What to do with the message.
    pub outcome: Outcome,
    /// How each guard came to it, where that was asked for.
    pub trace: Option<Trace>,
}

/// What to do with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a gateway has to handle each: route, drop, answer")]
pub enum Outcome {
    /// Route it.
    Pass,
    /// Forget it, and tell nobody.
    Drop {
        /// Who refused it.
        guard: &'static str,
        /// Why.
        reason: Cow<'static, str>,
    },
    /// Forget it, and answer the sender in its own profile.
    Nack {
        /// Who refused it.
        guard: &'static str,
        /// The error's code, `MX.…` for the guards of the protocol.
        code: &'static str,
        /// The error's message.
        message: Cow<'static, str>,
    },
}

impl Outcome {
    /// What a refusal means for a message of this kind: only a request is answered.
    #[must_use]
    pub fn of_refusal(guard: &'static str, refusal: Refusal, kind: MsgType) -> Self {
        match refusal.code() {
            Some(code) if kind.is_answered() => {
                Self::Nack { guard, code, message: refusal.into_reason() }
            }
            _ => Self::Drop { guard, reason: refusal.into_reason() },
        }
    }

    /// Whether the message goes on.
    #[must_use]
    pub const fn is_pass(&self) -> bool {
        matches!(self, Self::Pass)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::Drop { guard, reason } => write!(f, "drop by {guard}: {reason}"),
            Self::Nack { guard, code, message } => write!(f, "nack {code} by {guard}: {message}"),
        }
    }
}

/// How a decision came about: a step for each guard that was reached, then the releases. Shown, a
/// step is a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace(pub(super) Vec<Step>);

impl Trace {
    /// The steps, in the order in which they were taken.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Appends a step, of a guard that stands outside the chain.
    pub fn push(&mut self, step: Step) {
        self.0.push(step);
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{step}")?;
        }
        Ok(())
    }
}

/// One step of a [`Trace`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Whose step.
    pub guard: &'static str,
    /// Whether the guard is enforced.
    pub mode: Mode,
    /// What it found or did.
    pub finding: Finding,
}

impl Step {
    /// A step of the guard of this name.
    #[must_use]
    pub const fn new(guard: &'static str, mode: Mode, finding: Finding) -> Self {
        Self { guard, mode, finding }
    }
}

/// What a guard found or did in a [`Step`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// Let the message go on.
    Passed,
    /// Let it go on and remembered it.
    Reserved,
    /// Refused it. In shadow it goes on all the same.
    Refused(Refusal),
    /// Forgot it again, because a later guard refused it.
    Released,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.guard)?;
        if self.mode == Mode::Shadow {
            f.write_str(" (shadow)")?;
        }
        match &self.finding {
            Finding::Passed => f.write_str(": passed"),
            Finding::Reserved => f.write_str(": passed, reserved"),
            Finding::Released => f.write_str(": released"),
            Finding::Refused(refusal) => {
                f.write_str(": refused")?;
                if let Some(code) = refusal.code() {
                    write!(f, " {code}")?;
                }
                write!(f, ", {}", refusal.reason())
            }
        }
    }
}
