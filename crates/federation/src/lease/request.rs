use std::time::Duration;

use mesh_core::guard::Now;
use mesh_core::json::RawJson;
use mesh_core::mx::{EdgeCode, Fault, MxPath, Plane, Topic};
use mesh_core::name::RealmName;
use serde::{Deserialize, Serialize};

use super::source::path_of_topic;
use super::{BadSource, Lease, LeaseAsk, LeaseId, LeaseRefusal, check_source, notice_path};
use crate::Remote;

/// Codes of answers to what is asked about leases.
pub mod codes {
    /// The source is no event that is open to other realms (protocol §8).
    pub const BAD_SOURCE: &str = "MX.SUB.BAD_SOURCE";
    /// The realm has no lease of this id.
    pub const NOT_FOUND: &str = "MX.SUB.NOT_FOUND";
    /// There are as many leases as there may be, of the realm or in all.
    pub const LIMIT: &str = "MX.SUB.LIMIT";
    /// The local bus or the shared store can't be reached now. Trying again may help.
    pub const UNAVAILABLE: &str = "MX.SUB.UNAVAILABLE";
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subscribe {
    source_topic: Option<String>,
    source_path: Option<String>,
    sink_path: String,
    lease_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    id: String,
    lease_ms: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Granted {
    id: String,
    expires_at_ms: i64,
}

type Refused = Fault<'static>;

/// What `remote` asks for with `subscribe`.
pub(super) fn subscription(
    realm: &RealmName,
    remote: &Remote,
    params: &RawJson<'_>,
) -> Result<LeaseAsk<'static>, Refused> {
    if remote.realm == *realm {
        // It would be sent to the own mailbox, and there become an event inside that is heard again.
        return Err(bad_request("a realm hears its own events without a lease"));
    }
    let body: Subscribe = params.to().map_err(bad_request)?;
    let source =
        source(realm, &body).map_err(|why| Fault::new(codes::BAD_SOURCE, why.to_string()))?;
    let sink =
        MxPath::new(body.sink_path).map_err(|why| bad_request(format!("sinkPath: {why}")))?;
    if sink.plane() != Plane::Emits {
        return Err(bad_request("sinkPath: events go to an `emits` path"));
    }
    let notices = notice_path(&sink).map_err(|why| bad_request(format!("sinkPath: {why}")))?;
    for path in [&sink, &notices] {
        Topic::internal(&remote.realm, path)
            .map_err(|why| bad_request(format!("sinkPath: {why}")))?;
    }
    Ok(LeaseAsk {
        source,
        sink_realm: remote.realm.clone(),
        sink_path: sink,
        profile: remote.profile,
        lease: span(body.lease_ms)?,
    })
}

fn source(realm: &RealmName, body: &Subscribe) -> Result<MxPath<'static>, BadSource> {
    let topic =
        body.source_topic.as_deref().map(|topic| path_of_topic(realm, topic)).transpose()?;
    let path = body.source_path.clone().map(MxPath::new).transpose();
    let path = match (topic, path.map_err(mesh_core::mx::TopicError::from)?) {
        (Some(topic), Some(path)) if topic != path => return Err(BadSource::Differ),
        (topic, path) => topic.or(path).ok_or(BadSource::Missing)?,
    };
    check_source(realm, &path)?;
    Ok(path)
}

/// Which lease `refresh` and `unsubscribe` are about, and for how long it is wanted.
pub(super) fn named(params: &RawJson<'_>) -> Result<(LeaseId, Option<Duration>), Refused> {
    let body: Named = params.to().map_err(bad_request)?;
    // An id that can't be one names nothing.
    let id = body.id.parse().map_err(|_| refused(LeaseRefusal::NotFound))?;
    Ok((id, span(body.lease_ms)?))
}

fn span(millis: Option<u64>) -> Result<Option<Duration>, Refused> {
    match millis {
        Some(0) => Err(bad_request("leaseMs: a lease of no time")),
        other => Ok(other.map(Duration::from_millis)),
    }
}

/// The answer to `subscribe` and `refresh`.
pub(super) fn granted(lease: &Lease, now: Now) -> RawJson<'static> {
    let expires_at_ms = lease.expires_at(now).as_millis();
    let granted = Granted { id: lease.id().to_string(), expires_at_ms };
    // A text and a number are always JSON.
    RawJson::from_serialize(&granted).unwrap_or(RawJson::NULL)
}

pub(super) fn refused(refusal: LeaseRefusal) -> Refused {
    let code = match refusal {
        LeaseRefusal::RealmFull | LeaseRefusal::Full | LeaseRefusal::SourcesFull => codes::LIMIT,
        LeaseRefusal::NotFound => codes::NOT_FOUND,
        LeaseRefusal::Collision => EdgeCode::BadRequest.as_str(),
    };
    Fault::new(code, refusal.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(super) fn unavailable(why: impl ToString) -> Refused {
    Fault::new(codes::UNAVAILABLE, why.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(crate) fn bad_request(why: impl ToString) -> Refused {
    Fault::edge(EdgeCode::BadRequest, why.to_string())
}
