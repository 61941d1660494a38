//! What an operator of the realm sees and does, from inside the realm alone.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use mesh_core::json::{JsonKind, RawJson};
use mesh_core::mx::{EdgeCode, Fault, MxPath};
use serde::{Deserialize, Serialize};

use crate::lease::{FederationFacade, LeaseDesk, bad_request};
use crate::session::SessionDirectory;
use crate::{Call, ComponentHost, HostError, Registration};

/// Shows a realm's leases and sessions to its operator, as commands on the local bus:
///
/// | command | body | answer |
/// |---|---|---|
/// | `_operator.accepts.leases` | `{from?, most?}` | `{leases: [{id, sourcePath, sinkRealm, sinkPath, profile, expiresAtMs, keeper}], next?, total}` |
/// | `_operator.accepts.evict` | `{id}` | `{ended}` |
/// | `_operator.accepts.sessions` | `{from?, most?}` | `{sessions: [{principalKey, tabRealm, profile, expiresAtMs}], next?, total}` |
///
/// A page has 100 entries unless told and 500 at most; `next` is the `from` of the next one, and missing
/// after the last. What comes or goes between two pages may be missed, or told twice.
///
/// No other realm is answered: a gateway lets nobody near a component that begins with `_`, and what has a
/// gateway's `_mx` all the same is refused here with `MX.EDGE.POLICY_DENIED`.
///
/// Dropped, it takes no more commands.
pub struct OperatorDesk {
    registrations: Vec<Registration>,
}

#[derive(Debug, Default, Deserialize)]
struct Pages {
    from: Option<u32>,
    most: Option<usize>,
}

#[derive(Deserialize)]
struct Evict {
    id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeaseRow {
    id: String,
    source_path: String,
    sink_realm: String,
    sink_path: String,
    profile: &'static str,
    expires_at_ms: i64,
    keeper: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionRow {
    principal_key: String,
    tab_realm: String,
    profile: &'static str,
    expires_at_ms: i64,
}

#[derive(Serialize)]
struct LeasePage {
    leases: Vec<LeaseRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u32>,
    total: usize,
}

#[derive(Serialize)]
struct SessionPage {
    sessions: Vec<SessionRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u32>,
    total: usize,
}

const MOST: usize = 500;

type Answer = Result<RawJson<'static>, Fault<'static>>;

impl OperatorDesk {
    /// Takes the commands about these two on the host's bus, from when this returns.
    ///
    /// # Errors
    /// [`HostError`]: the local bus does not take the commands.
    pub async fn start(
        host: &ComponentHost,
        facade: &FederationFacade,
        sessions: &Arc<SessionDirectory>,
    ) -> Result<Self, HostError> {
        let (desk, evicting) = (facade.desk(), facade.desk());
        let sessions = Arc::clone(sessions);
        let leases = move |call: Call| {
            let desk = desk.clone();
            async move { list_leases(&desk, &call) }
        };
        let evict = move |call: Call| {
            let desk = evicting.clone();
            async move { evict(&desk, &call).await }
        };
        let sessions = move |call: Call| {
            let sessions = Arc::clone(&sessions);
            async move { list_sessions(&sessions, &call) }
        };
        let registrations = vec![
            host.accept(ours("leases"), leases).await?,
            host.accept(ours("evict"), evict).await?,
            host.accept(ours("sessions"), sessions).await?,
        ];
        Ok(Self { registrations })
    }
}

#[expect(clippy::expect_used, reason = "texts of this module alone")]
fn ours(command: &str) -> MxPath<'static> {
    MxPath::new(format!("_operator.accepts.{command}")).expect("a path")
}

fn from_inside(call: &Call) -> Result<(), Fault<'static>> {
    if call.is_local() {
        return Ok(());
    }
    tracing::warn!("an operator's command came through a gateway");
    Err(Fault::edge(EdgeCode::PolicyDenied, "for this realm's operators alone"))
}

fn pages(call: &Call) -> Result<(u32, usize), Fault<'static>> {
    from_inside(call)?;
    let pages: Pages = match call.params.kind() {
        JsonKind::Null => Pages::default(),
        _ => call.params.to().map_err(bad_request)?,
    };
    Ok((pages.from.unwrap_or(0), pages.most.unwrap_or(100).clamp(1, MOST)))
}

fn list_leases(desk: &LeaseDesk, call: &Call) -> Answer {
    let (from, most) = pages(call)?;
    let (now, page, total) = desk.page(from, most);
    let next = page.last().map(|(next, _)| *next).filter(|_| page.len() == most);
    let row = |(_, lease): (u32, crate::lease::Lease)| LeaseRow {
        id: lease.id().to_string(),
        source_path: lease.source.as_str().to_owned(),
        sink_realm: lease.sink_realm.as_str().to_owned(),
        sink_path: lease.sink_path.as_str().to_owned(),
        profile: lease.profile.name(),
        expires_at_ms: lease.expires_at(now).as_millis(),
        keeper: lease.keeper,
    };
    answer(&LeasePage { leases: page.into_iter().map(row).collect(), next, total })
}

async fn evict(desk: &LeaseDesk, call: &Call) -> Answer {
    from_inside(call)?;
    let body: Evict = call.params.to().map_err(bad_request)?;
    let ended = match body.id.parse() {
        Ok(id) => desk.evict(id).await,
        Err(_) => false,
    };
    answer(&serde_json::json!({ "ended": ended }))
}

fn list_sessions(directory: &SessionDirectory, call: &Call) -> Answer {
    let (from, most) = pages(call)?;
    let now = directory.now();
    let page = directory.page(from, most);
    let next = page.last().map(|(next, _)| *next).filter(|_| page.len() == most);
    let row = |(_, session): (u32, crate::session::Session)| SessionRow {
        expires_at_ms: session.expires_at(now).as_millis(),
        principal_key: session.principal,
        tab_realm: session.tab_realm.as_str().to_owned(),
        profile: session.profile.name(),
    };
    let sessions = page.into_iter().map(row).collect();
    answer(&SessionPage { sessions, next, total: directory.status().sessions })
}

fn answer(value: &impl Serialize) -> Answer {
    RawJson::from_serialize(value)
        .map_err(|error| Fault::edge(EdgeCode::HandlerError, error.to_string()))
}

impl fmt::Debug for OperatorDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorDesk").field("commands", &self.registrations.len()).finish()
    }
}
