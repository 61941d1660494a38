use std::time::Duration;

use mesh_federation::RemoteError;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::runtime::words;
use crate::shell::Failure;

/// Why another realm gave no answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failed {
    pub(crate) kind: FailedKind,
    /// What the other realm's refusal is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<Box<RawValue>>,
    /// Whether the same may work a little later.
    pub(crate) may_retry: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FailedKind {
    /// The other realm said no, or its component failed.
    Refused,
    Denied,
    Unavailable,
    TimedOut,
    TooLarge,
    Busy,
    Asked,
    Other,
}

impl Failed {
    pub(super) fn of(error: &RemoteError) -> Self {
        let kind = match error {
            RemoteError::Refused { .. } => FailedKind::Refused,
            RemoteError::Denied(_) => FailedKind::Denied,
            RemoteError::Unavailable(_) => FailedKind::Unavailable,
            RemoteError::TimedOut => FailedKind::TimedOut,
            RemoteError::TooLarge(_) => FailedKind::TooLarge,
            RemoteError::Busy(_) => FailedKind::Busy,
            RemoteError::Uri(_) | RemoteError::Plane { .. } | RemoteError::Topic(_) => {
                FailedKind::Asked
            }
            _ => FailedKind::Other,
        };
        let (code, message, details) = match error {
            RemoteError::Refused { code, message, details } => {
                let details = details.as_ref();
                let details =
                    details.and_then(|raw| RawValue::from_string(raw.as_str().into()).ok());
                (Some(code.clone()), message.clone(), details)
            }
            error => (None, words(error), None),
        };
        Self { kind, code, message, details, may_retry: error.may_retry() }
    }

    /// For whoever waited `deadline` for it.
    pub(crate) fn failure(&self, uri: &str, deadline: Duration) -> Failure {
        let hint = match self.kind {
            FailedKind::Refused => "its operator knows why",
            FailedKind::Denied => {
                "let the backbone give this gateway the right to publish to that realm's mailbox"
            }
            FailedKind::Unavailable => {
                "see that the realm's gateway runs, and that both are on the same backbone"
            }
            FailedKind::TimedOut => {
                "it may have been done all the same; --deadline gives it longer, and \
                 `mesh federation guards` of the other realm tells what was dropped there"
            }
            FailedKind::TooLarge => "send less, or send where it is to be found",
            FailedKind::Busy => "try again when fewer calls wait",
            FailedKind::Asked => "`mesh uri explain` says what a URI means",
            FailedKind::Other => "MESH_LOG=debug at the gateway tells more of what happened",
        };
        let message = match self.kind {
            FailedKind::TimedOut => format!("no answer within {} ms", deadline.as_millis()),
            _ => self.message.clone(),
        };
        Failure::new(message, hint).at(uri)
    }
}
