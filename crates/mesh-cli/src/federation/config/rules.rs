//! The part of a file that can change while a gateway works: what it refuses.

use std::collections::HashMap;
use std::sync::Arc;

use mesh_core::guard::{
    EdgeGuards, HashSecret, Inbound, Mode, Policy, PrefixDeny, Quota, RateLimits, Ruling,
};
use mesh_core::mx::MsgType;
use mesh_federation::edge::{AsyncGuard, EdgeRules};
use toml::Spanned;

use super::{Config, Others, StageName};

/// A guard that waits, with its stage.
pub(crate) type Waits = (StageName, Arc<dyn AsyncGuard>);

/// The rules of a gateway, with the guards that wait and stay.
pub(crate) fn edge_rules(config: &Config, waiting: &[Waits]) -> EdgeRules {
    let mut rules = EdgeRules::default();
    rules.leeway = config.policy.leeway.0;
    rules.rate = rate(config);
    rules.policy = Some(Arc::new(Realms::of(config)));
    let in_shadow = |stage: StageName| config.shadow.iter().any(|name| *name.get_ref() == stage);
    let stages = config.shadow.iter().map(|stage| *stage.get_ref());
    // There is no standard guard of this stage.
    rules.shadow = stages.filter(|stage| *stage != StageName::Security).map(Into::into).collect();
    rules.waiting = waiting
        .iter()
        .map(|(stage, guard)| {
            let mode = if in_shadow(*stage) { Mode::Shadow } else { Mode::Enforce };
            (mode, Arc::clone(guard))
        })
        .collect();
    rules
}

/// The standard guards alone, for a capture. Nobody outside chooses what is in it.
pub(crate) fn edge_guards(config: &Config) -> EdgeGuards {
    let mut guards = EdgeGuards::new(config.realm.clone(), HashSecret::new([0; 16]));
    guards.leeway = config.policy.leeway.0;
    guards.rate = rate(config);
    guards.policy = Some(Arc::new(Realms::of(config)));
    let stages = config.shadow.iter().map(|stage| *stage.get_ref());
    guards.shadow = stages.filter(|stage| *stage != StageName::Security).map(Into::into).collect();
    guards
}

fn rate(config: &Config) -> RateLimits {
    let mut limits = RateLimits::default();
    let quota = |quota: super::Quota| Quota { burst: quota.burst, per_second: quota.per_second };
    if let Some(each) = config.rate.per_realm {
        limits.per_realm = quota(each);
    }
    if let Some(total) = config.rate.total {
        limits.total = Some(quota(total));
    }
    if let Some(most) = config.rate.max_realms {
        limits.max_realms = most.get();
    }
    let listed = config.peers.iter().filter_map(|(realm, peer)| Some((realm.clone(), peer.rate?)));
    limits.listed = listed.map(|(realm, rate)| (realm, quota(rate))).collect();
    limits
}

/// Paths that are closed to all, and realms that may reach some paths only.
#[derive(Debug)]
struct Realms {
    denied: PrefixDeny,
    /// What is denied here is what the realm may reach.
    allowed: HashMap<String, PrefixDeny>,
    others: Others,
}

impl Realms {
    fn of(config: &Config) -> Self {
        let listed = |prefixes: &[Spanned<String>]| {
            PrefixDeny::new(prefixes.iter().map(|prefix| prefix.get_ref().clone()))
        };
        let allowed = config.peers.iter().filter_map(|(realm, peer)| {
            Some((realm.as_str().to_owned(), listed(peer.allow.as_ref()?)))
        });
        Self {
            denied: listed(&config.policy.deny),
            allowed: allowed.collect(),
            others: config.policy.others,
        }
    }
}

impl Policy for Realms {
    fn rule(&self, inbound: &Inbound<'_>) -> Ruling {
        // An answer goes to who asked, and what was watched to who knows its path, which nobody can guess.
        let watched = inbound.kind == MsgType::Evt
            && inbound.to_path.is_some_and(|path| path.starts_with("watch."));
        if inbound.kind.is_answer() || watched {
            return Ruling::Allow;
        }
        if let denied @ Ruling::Deny(_) = self.denied.rule(inbound) {
            return denied;
        }
        let reached = match inbound.from_realm.and_then(|realm| self.allowed.get(realm)) {
            Some(allowed) => matches!(allowed.rule(inbound), Ruling::Deny(_)),
            None => self.others == Others::Allow,
        };
        match reached {
            true => Ruling::Allow,
            false => Ruling::Deny("this path is not open to this realm".into()),
        }
    }
}
