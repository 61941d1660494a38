use std::fmt;
use std::time::Duration;

use mesh_core::event::Event;
use mesh_core::name::{EventName, ModuleName};
use serde::de::DeserializeOwned;

/// An event in the hands of a handler.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReceivedEvent {
    /// The module that emitted it, as the broker enforced it.
    pub module: ModuleName,
    /// What happened.
    pub name: EventName,
    /// Id, time, causation, data.
    pub event: Event,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// Whether it was a dead letter and has been sent back.
    pub replayed: bool,
    /// Whether this handler was begun with this event before and nobody knows how far it came: the process
    /// was killed, or the broker closed ([`Handled::Interrupted`](mesh_core::store::Handled::Interrupted)).
    /// Only a store that outlives the process can tell; with another it is false.
    pub interrupted: bool,
}

impl ReceivedEvent {
    /// The data as a `T`.
    ///
    /// # Errors
    /// A [`HandlerError`] that rejects: another try would not change the data.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, HandlerError> {
        self.event.data().decode().map_err(|error| HandlerError::reject(format!("data: {error}")))
    }
}

/// Why a handler did not handle an event, and whether another try may help.
///
/// Any error becomes one that is tried again, so `?` works in a handler. For that reason it is not
/// an [`Error`](std::error::Error) itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerError {
    message: String,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Retry { after: Option<Duration> },
    Reject,
}

impl HandlerError {
    /// Try again, after the wait of the [`RetryPolicy`](crate::RetryPolicy).
    #[must_use]
    pub fn retry(message: impl Into<String>) -> Self {
        Self { message: message.into(), outcome: Outcome::Retry { after: None } }
    }

    /// Try again after this wait, or after [`RetryPolicy::LONGEST`](crate::RetryPolicy::LONGEST) where
    /// it is longer than that.
    #[must_use]
    pub fn retry_after(message: impl Into<String>, wait: Duration) -> Self {
        Self { message: message.into(), outcome: Outcome::Retry { after: Some(wait) } }
    }

    /// Don't try again: to the dead letters. Where another handler of the same event asks for another
    /// try, the event goes there after that one has succeeded, with this reason, or when the tries are
    /// used up. Until then the handler that rejected does not run again, while the process lives.
    #[must_use]
    pub fn reject(message: impl Into<String>) -> Self {
        Self { message: message.into(), outcome: Outcome::Reject }
    }

    /// Whether another try is wanted.
    #[must_use]
    pub fn is_retry(&self) -> bool {
        matches!(self.outcome, Outcome::Retry { .. })
    }

    /// The wait that was asked for.
    pub(crate) fn wait(&self) -> Option<Duration> {
        match self.outcome {
            Outcome::Retry { after } => after,
            Outcome::Reject => None,
        }
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self::retry(error.to_string())
    }
}
