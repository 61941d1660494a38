//! The flows: what must happen by the mesh's files, what did happen, and whether they are the same.

mod calls;
mod causes;
pub(crate) mod chain;
mod dead_letter;
mod duplicate;
mod events;
mod grants;
mod redelivery;
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
    /// A consumer that ends with an event in hand gets it when it is there again.
    Redelivery,
    /// An event that is on the broker twice is handled once.
    Duplicate,
    /// An event that can't be handled is kept, as a dead letter.
    DeadLetter,
    /// An event that a handler publishes names what caused it.
    Causes,
    /// A call that the files allow is answered.
    Calls,
    /// A call that the files don't allow is refused.
    Refused,
    /// A call that nobody can answer is told so at once.
    Unavailable,
    /// A module is given what it requires, once, until it is withdrawn.
    Grants,
    /// Another realm calls in, with messages of the older form.
    LegacyRealm,
    /// Another realm calls in, with messages of today's form.
    NewRealm,
}

impl FlowName {
    pub(crate) const ALL: [Self; 12] = [
        Self::Events,
        Self::Retry,
        Self::Redelivery,
        Self::Duplicate,
        Self::DeadLetter,
        Self::Causes,
        Self::Calls,
        Self::Refused,
        Self::Unavailable,
        Self::Grants,
        Self::LegacyRealm,
        Self::NewRealm,
    ];
}

/// One thing that a flow expected, and what came.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// What was done.
    pub(crate) what: String,
    /// One line, or a drawing of several.
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

    /// One whose outcome is drawn.
    fn drawn(what: impl Into<String>, expected: &[String], found: &[String]) -> Self {
        Self::new(what, expected.join("\n"), found.join("\n"))
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

pub(crate) async fn run(name: FlowName, raised: &mut Raised) -> FlowResult {
    let steps = match name {
        FlowName::Events => events::run(raised).await,
        FlowName::Retry => retry::run(raised).await,
        FlowName::Redelivery => redelivery::run(raised).await,
        FlowName::Duplicate => duplicate::run(raised).await,
        FlowName::DeadLetter => dead_letter::run(raised).await,
        FlowName::Causes => causes::run(raised).await,
        FlowName::Calls => calls::run(raised).await,
        FlowName::Refused => refused::run(raised).await,
        FlowName::Unavailable => unavailable::run(raised).await,
        FlowName::Grants => grants::run(raised).await,
        FlowName::LegacyRealm => federation::legacy(raised).await,
        FlowName::NewRealm => federation::new(raised).await,
    };
    let missing = steps.is_empty().then(|| name.missing(raised));
    FlowResult { name, about: name.about(raised.ground.proves_callers()), steps, missing }
}
