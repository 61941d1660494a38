//! `mesh federation leases` and `sessions`.

use std::fmt;

use clap::Args;
use mesh_core::text::Printable;
use mesh_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::operator::{Operator, Reach};
use super::runtime::until_interrupted;
use crate::shell::style::STRONG;
use crate::shell::{Answer, Exit, Failure, Shell};

/// List the leases that other realms have on this realm's events.
#[derive(Debug, Args)]
pub(super) struct Leases {
    /// End the lease of this id, and tell its owner.
    #[arg(long, value_name = "ID")]
    evict: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

/// List who is present in this realm's directory of sessions.
#[derive(Debug, Args)]
pub(super) struct Sessions {
    #[command(flatten)]
    reach: Reach,
}

#[derive(Serialize)]
struct Page {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<u32>,
    most: usize,
}

/// How many are asked for at a time.
const MOST: usize = 500;

pub(super) fn leases(asked: &Leases, shell: &mut Shell) -> Result<Exit, Failure> {
    until_interrupted(async {
        let operator = asked.reach.connect(shell).await?;
        if let Some(id) = &asked.evict {
            let evicted: Evicted = operator.ask("evict", &serde_json::json!({ "id": id })).await?;
            shell.answer(&evicted)?;
            return Ok(if evicted.ended { Exit::Good } else { Exit::Fault });
        }
        let (mut total, mut from, mut count) = (0, None, 0);
        loop {
            let page: LeasePage = operator.ask("leases", &Page { from, most: MOST }).await?;
            total = page.total.max(total);
            for lease in &page.leases {
                shell.answer(lease)?;
                count += 1;
            }
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        end(&operator, shell, "lease", count, total)
    })
}

pub(super) fn sessions(asked: &Sessions, shell: &mut Shell) -> Result<Exit, Failure> {
    until_interrupted(async {
        let operator = asked.reach.connect(shell).await?;
        let (mut total, mut from, mut count) = (0, None, 0);
        loop {
            let page: SessionPage = operator.ask("sessions", &Page { from, most: MOST }).await?;
            total = page.total.max(total);
            for session in &page.sessions {
                shell.answer(session)?;
                count += 1;
            }
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        end(&operator, shell, "session", count, total)
    })
}

fn end(
    operator: &Operator,
    shell: &mut Shell,
    what: &'static str,
    listed: usize,
    total: usize,
) -> Result<Exit, Failure> {
    let realm = operator.realm.as_str().to_owned();
    shell.answer(&Total { realm, what, listed, total })?;
    Ok(Exit::Good)
}

#[derive(Debug, Deserialize)]
struct LeasePage {
    leases: Vec<Lease>,
    next: Option<u32>,
    total: usize,
}

#[derive(Debug, Deserialize)]
struct SessionPage {
    sessions: Vec<Session>,
    next: Option<u32>,
    total: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Lease {
    id: String,
    source_path: String,
    sink_realm: String,
    sink_path: String,
    profile: String,
    expires_at_ms: i64,
    /// The gateway that forwards its events.
    keeper: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Session {
    principal_key: String,
    tab_realm: String,
    profile: String,
    expires_at_ms: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Evicted {
    ended: bool,
}

/// The last line.
#[derive(Debug, Serialize)]
struct Total {
    realm: String,
    what: &'static str,
    listed: usize,
    /// As many as the gateway knows of.
    total: usize,
}

impl Answer for Lease {
    const SCHEMA: &'static str = "mesh.federation.lease/1";
}

impl Answer for Session {
    const SCHEMA: &'static str = "mesh.federation.session/1";
}

impl Answer for Evicted {
    const SCHEMA: &'static str = "mesh.federation.evicted/1";
}

impl Answer for Total {
    const SCHEMA: &'static str = "mesh.federation.total/1";
}

fn until(millis: i64) -> String {
    Timestamp::try_from(millis).map_or_else(|_| millis.to_string(), |at| at.to_string())
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, source_path, sink_realm, sink_path, profile, expires_at_ms, keeper } = self;
        writeln!(f, "{STRONG}{}{STRONG:#}", Printable(id))?;
        writeln!(
            f,
            "  {} to {} of {}",
            Printable(source_path),
            Printable(sink_path),
            Printable(sink_realm)
        )?;
        writeln!(
            f,
            "  until {}, in {}, forwarded by {}",
            until(*expires_at_ms),
            Printable(profile),
            Printable(keeper)
        )
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{STRONG}{}{STRONG:#} in {}, until {}, in {}",
            Printable(&self.principal_key),
            Printable(&self.tab_realm),
            until(self.expires_at_ms),
            Printable(&self.profile)
        )
    }
}

impl fmt::Display for Evicted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.ended { "ended\n" } else { "there is no such lease\n" })
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { realm, what, total, .. } = self;
        let plural = if *total == 1 { "" } else { "s" };
        writeln!(f, "{total} {what}{plural} in {}", Printable(realm.as_str()))
    }
}
