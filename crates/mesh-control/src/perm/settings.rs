//! What a mesh file says of its server that holds for everybody.

use std::fmt;

use mesh_core::manifest::{Isolation, Limits, ONE_ACCOUNT_SENTENCE, SecretKind};

use crate::compose::Composition;

/// A setting that changes for everybody.
///
/// Shown as `limits.connections: from 100 to 200`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// The field, below `[bus]`.
    pub field: &'static str,
    /// What it was.
    pub old: String,
    /// What it is.
    pub new: String,
    /// Whether it lets anybody do more.
    pub widens: bool,
    /// What that means, where it is not plain.
    pub meaning: Option<&'static str>,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: from {} to {}", self.field, self.old, self.new)
    }
}

/// The settings that differ and have to do with who may do what. How answers may be given is each user's.
pub(super) fn settings(old: &Composition, new: &Composition) -> Vec<Setting> {
    let (old, new) = (old.bus(), new.bus());
    let mut settings = Vec::new();
    if old.isolation != new.isolation {
        let widens = new.isolation == Isolation::OneAccount;
        settings.push(Setting {
            field: "isolation",
            old: isolation(old.isolation).to_owned(),
            new: isolation(new.isolation).to_owned(),
            widens,
            meaning: widens.then_some(ONE_ACCOUNT_SENTENCE),
        });
    }
    if old.secrets != new.secrets {
        settings.push(Setting {
            field: "secrets",
            old: secrets(old.secrets).to_owned(),
            new: secrets(new.secrets).to_owned(),
            widens: false,
            meaning: Some("it holds for those whose secrets are minted from now on"),
        });
    }
    for ((field, old), (_, new)) in limits(&old.limits).into_iter().zip(limits(&new.limits)) {
        if old != new {
            let widens = new > old;
            let [old, new] = [old, new].map(|limit| limit.to_string());
            settings.push(Setting { field, old, new, widens, meaning: None });
        }
    }
    settings
}

fn limits(limits: &Limits) -> [(&'static str, u64); 7] {
    [
        ("limits.connections", limits.connections.into()),
        ("limits.edge_connections", limits.edge_connections.into()),
        ("limits.subscriptions", limits.subscriptions.into()),
        ("limits.edge_subscriptions", limits.edge_subscriptions.into()),
        ("limits.max_payload", limits.max_payload.into()),
        ("limits.file_store", limits.file_store),
        ("limits.memory_store", limits.memory_store),
    ]
}

fn isolation(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Split => "split",
        Isolation::OneAccount => "one-account",
    }
}

fn secrets(secrets: SecretKind) -> &'static str {
    match secrets {
        SecretKind::Bcrypt => "bcrypt",
        SecretKind::NKey => "nkey",
    }
}
