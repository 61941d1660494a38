use std::convert::Infallible;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::json::{EmitError, JsonError};
use mesh_core::message::{HeaderError, PublishIdError};
use mesh_core::name::{NameError, ToolName};
use mesh_core::port::{Capability, ErrorKind, TransportError};
use mesh_core::subject::{Filter, SubjectError};
use mesh_core::tool::ToolFailure;

use crate::scope::asks;

/// Why a broker was not built: the connection does not have what it was to be built for, or its settings
/// don't fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Only a module has events and tools of its own.
    #[error("{principal} is not a module, and only a module has events and tools{}", hint(.principal))]
    NotAModule {
        /// Who connects.
        principal: Principal,
    },
    /// Nobody of this kind has an account that may call a tool.
    #[error("{principal} may call no tools: modules, people and the controller do")]
    AsksNobody {
        /// Who connects.
        principal: Principal,
    },
    /// The transport does not have what a verb is built on.
    #[error("the connection lacks {capability:?}: build_only leaves out the verbs that need it")]
    Lacking {
        /// What it would have to have.
        capability: Capability,
    },
    /// The retry policy waits longer than [`RetryPolicy::LONGEST`](crate::RetryPolicy::LONGEST).
    #[error(
        "the retry policy waits up to {asked:?} before another try, and {longest:?} is the longest"
    )]
    RetryTooLong {
        /// The policy's longest wait.
        asked: Duration,
        /// The longest that may be asked for.
        longest: Duration,
    },
    /// The store of what was handled forgets before the tries of an event are over, so an event could
    /// be handled again.
    #[error(
        "handled events are remembered for {window:?}, and the tries of one can take {needed:?}"
    )]
    WindowTooShort {
        /// How long the store remembers.
        window: Duration,
        /// [`RetryPolicy::SPAN`](crate::RetryPolicy::SPAN).
        needed: Duration,
    },
}

fn hint(principal: &Principal) -> &'static str {
    if asks(principal) { "; build_only::<Asking>() builds a broker that asks" } else { "" }
}

/// Why an event was not published. It is not on the broker, unless the kind of the transport's
/// error is `TimedOut` or `Disconnected`: then that can't be known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The event's name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Module and event are too long together.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The data can't be written as JSON.
    #[error("data: {0}")]
    Data(#[from] EmitError),
    /// A header can't be sent.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The id is too long for the broker.
    #[error(transparent)]
    Id(#[from] PublishIdError),
    /// The broker had this id on the first attempt: somebody else used it, or it is not random.
    #[error("the broker already had an event of the id {id}, which was made just now")]
    IdTaken {
        /// The id.
        id: String,
    },
    /// The transport refused or failed: `Denied`, `TooLarge`, `Full`, `TimedOut`, …
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Why a subscription was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// The pattern is none.
    #[error(transparent)]
    Pattern(#[from] SubjectError),
    /// The manifest's `consumes` does not cover the pattern.
    #[error("{pattern} is not covered by what the manifest consumes")]
    NotConsumed {
        /// The pattern asked for.
        pattern: Filter,
    },
    /// The transport refused or failed; `NotFound`: the controller made no consumer.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Why a tool is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// This broker serves it already, with another handler.
    #[error("{tool} is served by this broker already")]
    AlreadyServed {
        /// The tool.
        tool: ToolName,
    },
    /// The tool's name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Module and tool are too long together.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The transport refused or failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Why a question has no answer. Five concern the tool: [`Denied`](Self::Denied),
/// [`Unavailable`](Self::Unavailable), [`TimedOut`](Self::TimedOut), [`TooLarge`](Self::TooLarge) and
/// [`Tool`](Self::Tool). The others mean a wrong call, an answer that is not what was asked for, or a
/// lost connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The account may not ask this.
    #[error("denied: {0}")]
    Denied(#[source] TransportError),
    /// Nobody serves the tool now.
    #[error("unavailable: {0}")]
    Unavailable(#[source] TransportError),
    /// No answer within the time given; the tool may have run.
    #[error("timed out: {0}")]
    TimedOut(#[source] TransportError),
    /// The question exceeds the broker's limit.
    #[error("too large: {0}")]
    TooLarge(#[source] TransportError),
    /// The tool was reached and failed.
    #[error("tool failed: {0}")]
    Tool(ToolFailure),
    /// A name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Module and tool are too long together.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The question can't be written as JSON.
    #[error("input: {0}")]
    Input(#[source] EmitError),
    /// The answer is not JSON.
    #[error("output: {0}")]
    Output(#[source] JsonError),
    /// The answer is not of the type asked for.
    #[error("output: {0}")]
    OutputShape(#[source] serde_json::Error),
    /// A header can't be sent.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Any other failure of the transport.
    #[error(transparent)]
    Transport(TransportError),
}

impl From<TransportError> for RequestError {
    fn from(error: TransportError) -> Self {
        match error.kind() {
            ErrorKind::Denied => Self::Denied(error),
            ErrorKind::NoResponders => Self::Unavailable(error),
            ErrorKind::TimedOut => Self::TimedOut(error),
            ErrorKind::TooLarge => Self::TooLarge(error),
            _ => Self::Transport(error),
        }
    }
}

impl PublishError {
    /// For metrics and spans: the kind, as OpenTelemetry's `error.type` has it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::IdTaken { .. } => "id_taken",
            Self::Transport(error) => error.kind().as_str(),
            _ => ErrorKind::Invalid.as_str(),
        }
    }
}

impl SubscribeError {
    /// For spans: the kind, as OpenTelemetry's `error.type` has it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Transport(error) => error.kind().as_str(),
            _ => ErrorKind::Invalid.as_str(),
        }
    }
}

impl HandleError {
    /// For spans: the kind, as OpenTelemetry's `error.type` has it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Transport(error) => error.kind().as_str(),
            _ => ErrorKind::Invalid.as_str(),
        }
    }
}

impl RequestError {
    /// For metrics and spans: the kind, as OpenTelemetry's `error.type` has it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Denied(error)
            | Self::Unavailable(error)
            | Self::TimedOut(error)
            | Self::TooLarge(error)
            | Self::Transport(error) => error.kind().as_str(),
            Self::Tool(_) => "tool_failed",
            Self::Output(_) | Self::OutputShape(_) => "bad_answer",
            _ => ErrorKind::Invalid.as_str(),
        }
    }
}

/// So that a verb takes a ready value where it takes text.
macro_rules! never {
    ($($error:ty),*) => {
        $(impl From<Infallible> for $error {
            fn from(never: Infallible) -> Self {
                match never {}
            }
        })*
    };
}
never!(PublishError, SubscribeError, HandleError, RequestError);
