use std::collections::BTreeMap;

use mesh_core::guard::{Mode, Stage};
use mesh_federation::edge::{EdgeStatus, On};
use serde::{Deserialize, Serialize};

/// How a gateway is, as its operator is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Status {
    pub(crate) realm: String,
    /// Whether it hears all that it should.
    pub(crate) listening: bool,
    /// Messages that its guards looked at.
    pub(crate) checked: u64,
    pub(crate) undecodable: u64,
    pub(crate) guards: Vec<Guard>,
    pub(crate) counters: BTreeMap<String, u64>,
    pub(crate) ears: Vec<Ear>,
    /// Requests that wait for a component's reply.
    pub(crate) pending: usize,
    /// Those, and those whose answer is being sent.
    pub(crate) under_way: usize,
    /// Messages that wait for a guard.
    pub(crate) waiting: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Guard {
    pub(crate) guard: String,
    pub(crate) stage: String,
    /// `enforce` or `shadow`.
    pub(crate) mode: String,
    pub(crate) passed: u64,
    pub(crate) refused: u64,
    /// What it would have refused.
    pub(crate) shadow_refused: u64,
    pub(crate) figures: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ear {
    pub(crate) topic: String,
    /// `backbone` or `local`.
    pub(crate) on: String,
    pub(crate) listening: bool,
    pub(crate) heard: u64,
    pub(crate) lost: u64,
}

impl Status {
    pub(super) fn of(status: &EdgeStatus) -> Self {
        let figures = |figures: &[(&'static str, u64)]| {
            figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        let guards = status.guards.guards.iter().map(|guard| Guard {
            guard: guard.guard.to_owned(),
            stage: stage(guard.stage).to_owned(),
            mode: match guard.mode {
                Mode::Enforce => "enforce".to_owned(),
                Mode::Shadow => "shadow".to_owned(),
            },
            passed: guard.passed,
            refused: guard.refused,
            shadow_refused: guard.shadow_refused,
            figures: figures(&guard.figures),
        });
        let ears = status.ears.iter().map(|ear| Ear {
            topic: ear.filter.as_str().to_owned(),
            on: match ear.on {
                On::Backbone => "backbone".to_owned(),
                On::Local => "local".to_owned(),
            },
            listening: ear.listening,
            heard: ear.heard,
            lost: ear.lost,
        });
        Self {
            realm: status.realm.as_str().to_owned(),
            listening: status.is_healthy(),
            checked: status.guards.checked,
            undecodable: status.guards.undecodable,
            guards: guards.collect(),
            counters: status
                .counters
                .iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            ears: ears.collect(),
            pending: status.pending,
            under_way: status.under_way,
            waiting: status.waiting,
        }
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Addressed => "addressed",
        Stage::Expiry => "expiry",
        Stage::Relay => "relay",
        Stage::Security => "security",
        Stage::Replay => "replay",
        Stage::Rate => "rate",
        Stage::Policy => "policy",
        _ => "other",
    }
}
