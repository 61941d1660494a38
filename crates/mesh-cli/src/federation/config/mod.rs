//! A gateway's file: what it says, and every place where it says it wrongly.
//!
//! No secret stands in it: credentials and keys are files of their own, named relative to it.

mod problem;
mod read;
mod rules;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use mesh_core::name::RealmName;
use serde::Deserialize;
use toml::Spanned;

pub(super) use problem::Problem;
pub(super) use read::{GatewayFile, egress, read};
pub(super) use rules::{Waits, edge_guards, edge_rules};
pub(crate) use values::Span;
pub(super) use values::{
    AlgorithmName, BucketText, Buckets, Bus, Mailbox, ProfileName, Required as RequiredOf,
    StageName, State,
};

/// A gateway's file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    pub(super) realm: RealmName,
    /// Its name among the gateways of its realm.
    pub(super) gateway: Option<String>,
    #[serde(default = "values::usual_mailboxes")]
    pub(super) mailboxes: Spanned<Vec<Mailbox>>,
    pub(super) backbone: Bus,
    pub(super) local: Bus,
    #[serde(default)]
    pub(super) state: State,
    /// What realms are written to in of which nothing else is said.
    #[serde(default)]
    pub(super) profile: ProfileName,
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default)]
    pub(super) rate: Rate,
    #[serde(default)]
    pub(super) policy: Policy,
    /// Guards that count and refuse nothing.
    #[serde(default)]
    pub(super) shadow: Vec<Spanned<StageName>>,
    #[serde(default)]
    pub(super) leases: Leases,
    #[serde(default)]
    pub(super) sessions: Sessions,
    pub(super) router: Option<Router>,
    pub(super) security: Option<Security>,
    pub(super) discovery: Option<Discovery>,
    #[serde(default)]
    pub(super) peers: BTreeMap<RealmName, Peer>,
}

/// How much may be under way.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    pub(super) pending: Option<NonZeroUsize>,
    pub(super) pending_per_realm: Option<NonZeroUsize>,
    pub(super) max_bytes: Option<NonZeroUsize>,
    pub(super) max_id_bytes: Option<NonZeroUsize>,
    /// How long a component has for its reply.
    pub(super) timeout: Option<Span>,
    /// How long what is under way has when the gateway ends.
    pub(super) close: Option<Span>,
    pub(super) include_envelope: bool,
}

/// How much may come in.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Rate {
    pub(super) per_realm: Option<Quota>,
    pub(super) total: Option<Quota>,
    pub(super) max_realms: Option<NonZeroUsize>,
}

/// So many at once, and so many a second from then on.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quota {
    pub(super) burst: std::num::NonZeroU32,
    pub(super) per_second: std::num::NonZeroU32,
}

/// What other realms may reach.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Policy {
    /// How far the senders' clocks may be behind.
    pub(super) leeway: Span,
    /// Paths that are closed to all.
    pub(super) deny: Vec<Spanned<String>>,
    /// Whether realms may reach something that have no `allow` of their own.
    pub(super) others: Others,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Others {
    #[default]
    Allow,
    Deny,
}

/// Leases of this realm's events.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Leases {
    pub(super) lifetime: Option<Span>,
    pub(super) longest: Option<Span>,
    pub(super) per_realm: Option<NonZeroUsize>,
    pub(super) total: Option<NonZeroUsize>,
}

/// Principals that are present somewhere.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Sessions {
    pub(super) lifetime: Option<Span>,
    pub(super) per_principal: Option<NonZeroUsize>,
    pub(super) per_realm: Option<NonZeroUsize>,
    pub(super) total: Option<NonZeroUsize>,
}

/// The realms above and right below.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Router {
    pub(super) parent: Option<Spanned<RealmName>>,
    pub(super) children: Vec<Spanned<RealmName>>,
}

/// Who has to prove itself, and how this realm does.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Security {
    pub(super) required: Option<Spanned<RequiredOf>>,
    /// Realms whose legacy messages pass unproven.
    pub(super) legacy: Vec<RealmName>,
    /// The file with this realm's private key, PEM.
    pub(super) key: Option<Spanned<PathBuf>>,
    /// Its id in what is published.
    pub(super) kid: Option<String>,
    pub(super) algorithm: AlgorithmName,
}

impl Security {
    /// Who has to prove itself: all, unless told.
    pub(super) fn required(&self) -> RequiredOf {
        self.required.as_ref().map(|required| required.get_ref().clone()).unwrap_or_default()
    }
}

/// How realms are found, and how this one is.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Discovery {
    /// Whether other realms are looked for.
    pub(super) read: Option<bool>,
    /// Whether envelopes are posted straight to those that say where.
    pub(super) direct: bool,
    /// Networks that are not public and may be connected to all the same.
    pub(super) networks: Vec<Spanned<String>>,
    pub(super) hosts: Vec<String>,
    pub(super) ports: Vec<u16>,
    /// Certificates to trust instead of the system's, PEM.
    pub(super) roots: Option<PathBuf>,
    pub(super) serve: Option<Serve>,
}

/// Where this realm's document is served.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Serve {
    pub(super) listen: SocketAddr,
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    /// Where others post envelopes to, as they reach it; none is taken without.
    pub(super) endpoint: Option<Spanned<String>>,
    /// The public keys that stand in the document: a JWKS.
    pub(super) jwks: Option<PathBuf>,
}

/// What is said of one realm.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Peer {
    pub(super) profile: Option<ProfileName>,
    /// What it may reach; nothing else then.
    pub(super) allow: Option<Vec<Spanned<String>>>,
    pub(super) rate: Option<Quota>,
    /// Its public keys: a JWKS.
    pub(super) jwks: Option<PathBuf>,
    /// Where its document is, if not where its name says.
    pub(super) document: Option<Spanned<String>>,
}
