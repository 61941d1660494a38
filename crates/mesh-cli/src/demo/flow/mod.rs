//! The flows: what must happen by the mesh's files, what did happen, and whether they are the same.

mod calls;
mod dead_letter;
mod events;
mod refused;
mod retry;
mod unavailable;
mod words;

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
    /// A consumer that fails gets the event again.
    Retry,
    /// An event that can't be handled is kept, as a dead letter.
    DeadLetter,
    /// A call that the files allow is answered.
    Calls,
    /// A call that the files don't allow is refused.
    Refused,
    /// A call that nobody can answer is told so at once.
    Unavailable,
    /// Another realm calls in, with messages of the older form.
    LegacyRealm,
    /// Another realm calls in, with messages of today's form.
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

/// What came of a flow.
#[derive(Debug, Clone)]
pub(crate) struct FlowResult {
    pub(crate) name: FlowName,
    /// What a reader has to know to follow the steps.
    pub(crate) about: String,
    pub(crate) steps: Vec<Step>,
    /// What the mesh would need for it, where there is no step.
    pub(crate) missing: Option<&'static str>,
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
    let missing = steps.is_empty().then(|| name.missing(raised));
    FlowResult { name, about: name.about(raised.ground.proves_callers()), steps, missing }
}
