//! What is asked of the other realm about a lease, and what it says.

use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{EdgeCode, MxPath};
use mesh_core::port::Clock;
use serde::{Deserialize, Serialize};

use super::super::RemoteError;

/// The commands of the other realm's facade.
pub(super) const SUBSCRIBE: &str = "_federation.accepts.subscribe";
pub(super) const REFRESH: &str = "_federation.accepts.refresh";
pub(super) const UNSUBSCRIBE: &str = "_federation.accepts.unsubscribe";

/// Codes that a facade answers with.
const BAD_SOURCE: &str = "MX.SUB.BAD_SOURCE";
const NOT_FOUND: &str = "MX.SUB.NOT_FOUND";

/// A lease that we hold.
#[derive(Debug, Clone)]
pub(super) struct Lease {
    pub(super) id: String,
    /// How long it lasts from when it was asked for.
    pub(super) life: Duration,
    /// When it was asked for, on the monotonic clock.
    pub(super) asked: Duration,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Subscribe<'a> {
    source_path: &'a str,
    sink_path: &'a str,
    lease_ms: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Named<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Granted {
    id: String,
    expires_at_ms: i64,
}

pub(super) fn subscribe(
    source: &MxPath<'_>,
    sink: &MxPath<'_>,
    life: Duration,
) -> RawJson<'static> {
    written(&Subscribe {
        source_path: source.as_str(),
        sink_path: sink.as_str(),
        lease_ms: millis(life),
    })
}

pub(super) fn refresh(lease: &Lease, life: Duration) -> RawJson<'static> {
    written(&Named { id: &lease.id, lease_ms: Some(millis(life)) })
}

pub(super) fn unsubscribe(lease: &Lease) -> RawJson<'static> {
    written(&Named { id: &lease.id, lease_ms: None })
}

impl Lease {
    /// Reads the answer to `subscribe` or `refresh`, asked for `life` at `asked`.
    ///
    /// The other realm says when the lease ends by its own clock, which may be wrong: the lease is taken to
    /// last as long as was asked for, or less where it says so, but no less than an eighth of that.
    pub(super) fn granted(
        answer: &RawJson<'_>,
        life: Duration,
        asked: Duration,
        clock: &dyn Clock,
    ) -> Result<Self, RemoteError> {
        let granted: Granted = answer.to().map_err(|error| RemoteError::Refused {
            code: EdgeCode::HandlerError.as_str().to_owned(),
            message: format!("what it says is no lease: {error}"),
            details: None,
        })?;
        let left = granted.expires_at_ms.saturating_sub(clock.now().as_millis());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
        Ok(Self { id: granted.id, life: left.clamp(life / 8, life), asked })
    }

    /// When it is over, on the monotonic clock.
    pub(super) fn ends(&self) -> Duration {
        self.asked.saturating_add(self.life)
    }
}

/// Whether the other realm does not know the lease (any more).
pub(super) fn is_unknown(error: &RemoteError) -> bool {
    matches!(error, RemoteError::Refused { code, .. } if code == NOT_FOUND)
}

/// Whether asking again for the same lease is no use.
pub(super) fn is_final(error: &RemoteError) -> bool {
    match error {
        RemoteError::Refused { code, .. } => {
            code == BAD_SOURCE
                || matches!(error.edge_code(), Some(EdgeCode::PolicyDenied | EdgeCode::BadRequest))
        }
        RemoteError::Unavailable(_) | RemoteError::TimedOut | RemoteError::Busy(_) => false,
        RemoteError::Sign(_) => false,
        RemoteError::Transport(error) => !error.may_retry(),
        _ => true,
    }
}

/// What the other realm tells about a lease without being asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Notice {
    Ended { reason: String },
    Missed { at_least: u64 },
}

impl Notice {
    /// Reads the body of a notice; `None` where it is none that this version knows.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            kind: String,
            reason: Option<String>,
            at_least: Option<u64>,
        }
        let body = RawJson::from_slice(body, MAX_NOTICE).ok()?;
        let wire: Wire = body.to().ok()?;
        match &*wire.kind {
            "ended" => Some(Self::Ended { reason: wire.reason.unwrap_or_default() }),
            "missed" => Some(Self::Missed { at_least: wire.at_least.unwrap_or_default() }),
            _ => None,
        }
    }
}

/// A notice has three paths and a word.
const MAX_NOTICE: usize = 4096;

fn written<T: Serialize>(value: &T) -> RawJson<'static> {
    // Texts and numbers are always JSON.
    RawJson::from_serialize(value).unwrap_or(RawJson::NULL)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
