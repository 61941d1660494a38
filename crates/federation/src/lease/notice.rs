use mesh_core::json::RawJson;
use mesh_core::mx::{MxPath, PathError};
use serde::{Deserialize, Serialize};

use super::{Lease, LeaseId};

/// Why a lease ended without its owner having ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EndReason {
    /// Its time was over: `expired`.
    Expired,
    /// An operator ended it: `evicted`.
    Evicted,
    /// The gateway is shut down, and no other goes on: `shutting-down`.
    ShuttingDown,
    /// Its source can't be listened to any more: `source-gone`.
    SourceGone,
}

/// What is told to a sink about its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoticeKind {
    /// It has ended; nothing more will come.
    Ended(EndReason),
    /// It goes on, and events are missing: at least this many, 0 where nobody knows whether there were
    /// any.
    Missed(u64),
}

/// A notice: that a lease has ended, or that events are missing (protocol §8).
///
/// It is an event of its own, in the lease's profile, to [`notice_path`] of the lease's sink:
///
/// ```json
/// {"id": "…", "sourcePath": "…", "sinkPath": "…", "kind": "ended", "reason": "expired"}
/// {"id": "…", "sourcePath": "…", "sinkPath": "…", "kind": "missed", "atLeast": 3}
/// ```
///
/// Like any event it proves nothing about who sent it: whoever may write to the realm's mailbox can write
/// one. A sink whose component nobody can guess is told nothing by strangers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Notice {
    /// The lease.
    pub id: LeaseId,
    /// What it hears, in the realm that the notice is from.
    pub source: MxPath<'static>,
    /// Where its events go.
    pub sink: MxPath<'static>,
    /// What is told.
    pub kind: NoticeKind,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    id: String,
    source_path: String,
    sink_path: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<EndReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<u64>,
}

/// Where notices about a lease go whose events go to `sink`: `<its component>.emits.lease-notice`, in the
/// same mount. So they reach whoever owns the component, are read by any realm, and can't be taken for
/// events.
///
/// ```
/// use mesh_core::mx::MxPath;
/// use mesh_federation::lease::notice_path;
///
/// let sink = MxPath::new("desk/window.left.emits.stock")?;
/// assert_eq!(notice_path(&sink)?.as_str(), "desk/window.left.emits.lease-notice");
/// # Ok::<(), mesh_core::mx::PathError>(())
/// ```
///
/// # Errors
/// [`PathError`]: it is too long.
pub fn notice_path(sink: &MxPath<'_>) -> Result<MxPath<'static>, PathError> {
    let text = sink.as_str();
    let message = text.len() - sink.message().len();
    let before = text[..message].trim_end_matches('.');
    let component = before.rsplit_once('.').map_or(before, |(component, _)| component);
    MxPath::new(format!("{component}.emits.lease-notice"))
}

impl Notice {
    pub(super) fn of(lease: &Lease, kind: NoticeKind) -> Self {
        Self { id: lease.id(), source: lease.source.clone(), sink: lease.sink_path.clone(), kind }
    }

    /// Its body.
    pub(super) fn body(&self) -> RawJson<'static> {
        let (kind, reason, at_least) = match self.kind {
            NoticeKind::Ended(reason) => ("ended", Some(reason), None),
            NoticeKind::Missed(events) => ("missed", None, Some(events)),
        };
        let wire = Wire {
            id: self.id.to_string(),
            source_path: self.source.as_str().to_owned(),
            sink_path: self.sink.as_str().to_owned(),
            kind: kind.to_owned(),
            reason,
            at_least,
        };
        // Texts, a number and a word are always JSON.
        RawJson::from_serialize(&wire).unwrap_or(RawJson::NULL)
    }

    /// Reads the body of a notice. `None` where it is none, or of a kind that this version does not know.
    #[must_use]
    pub fn read(body: &RawJson<'_>) -> Option<Self> {
        let wire: Wire = body.to().ok()?;
        let kind = match &*wire.kind {
            "ended" => NoticeKind::Ended(wire.reason?),
            "missed" => NoticeKind::Missed(wire.at_least.unwrap_or(0)),
            _ => return None,
        };
        Some(Self {
            id: wire.id.parse().ok()?,
            source: MxPath::new(wire.source_path).ok()?,
            sink: MxPath::new(wire.sink_path).ok()?,
            kind,
        })
    }
}
