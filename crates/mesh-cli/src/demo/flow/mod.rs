//! The flows: what must happen by the mesh's files, what did happen, and whether they are the same.

mod calls;
mod dead_letter;
mod events;
mod refused;
mod retry;
mod unavailable;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::federation;
use super::raise::Raised;

/// A flow of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FlowName {
    /// Every event reaches exactly those who consume it.
    Events,
    /// A handler that fails once gets the event again.
    Retry,
    /// An event that can't be handled ends among the dead letters.
    DeadLetter,
    /// A declared call is answered.
    Calls,
    /// A call that is not declared is refused.
    Refused,
    /// A call that nobody serves is told so at once.
    Unavailable,
    /// A command of a realm on the legacy wire passes the guards.
    LegacyRealm,
    /// A command of a realm on the new wire passes the guards.
    NewRealm,
}

impl FlowName {
    pub(crate) const ALL: [Self; 8] = [
        Self::Events,
        Self::Retry,
        Self::DeadLetter,
        Self::Calls,
        Self::Refused,
        Self::Unavailable,
        Self::LegacyRealm,
        Self::NewRealm,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Events => "events reach who consumes them",
            Self::Retry => "a failure is tried again",
            Self::DeadLetter => "what can't be handled is kept",
            Self::Calls => "a declared call is answered",
            Self::Refused => "a call that is not declared is refused",
            Self::Unavailable => "a tool that nobody serves is said to be away",
            Self::LegacyRealm => "a realm on the legacy wire",
            Self::NewRealm => "a realm on the new wire",
        }
    }

    /// The word for it on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Retry => "retry",
            Self::DeadLetter => "dead-letter",
            Self::Calls => "calls",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::LegacyRealm => "legacy-realm",
            Self::NewRealm => "new-realm",
        }
    }
}

/// One thing that a flow expected, and what came.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// What was done.
    pub(crate) what: String,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Step {
    pub(crate) fn new(
        what: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), expected: expected.into(), found: found.into() }
    }

    pub(crate) fn is_as_expected(&self) -> bool {
        self.expected == self.found
    }
}

/// What came of a flow. Without a step the mesh has nothing of the kind.
#[derive(Debug, Clone)]
pub(crate) struct FlowResult {
    pub(crate) name: FlowName,
    pub(crate) steps: Vec<Step>,
}

impl FlowResult {
    pub(crate) fn is_as_expected(&self) -> bool {
        self.steps.iter().all(Step::is_as_expected)
    }
}

pub(crate) async fn run(name: FlowName, raised: &Raised) -> FlowResult {
    let steps = match name {
        FlowName::Events => events::run(raised).await,
        FlowName::Retry => retry::run(raised).await,
        FlowName::DeadLetter => dead_letter::run(raised).await,
        FlowName::Calls => calls::run(raised).await,
        FlowName::Refused => refused::run(raised).await,
        FlowName::Unavailable => unavailable::run(raised).await,
        FlowName::LegacyRealm => federation::legacy(raised).await,
        FlowName::NewRealm => federation::new(raised).await,
    };
    FlowResult { name, steps }
}
