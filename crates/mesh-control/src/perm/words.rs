//! What a grant is for, in words.

use mesh_core::permissions::{Effect, Side};
use mesh_core::provision::is_reserved_tool;
use mesh_core::topology::{DeliverySubject, MeshSubject};

use crate::compose::{Because, Grant};

impl Grant {
    /// What it lets its user do or forbids, as a sentence without its subject: `emits the event mail.sent`. What is
    /// somebody's by the protocol, is in its words.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.because {
            Because::Rule(words) => (*words).to_owned(),
            Because::Line(_) => of_line(self).unwrap_or_else(|| plainly(self)),
        }
    }
}

/// What somebody wrote a line for.
fn of_line(grant: &Grant) -> Option<String> {
    if grant.effect == Effect::Deny {
        return None;
    }
    let filter = &grant.rule.filter;
    match (grant.side, filter.as_str()) {
        (Side::Publish, "mesh.tools.>") => return Some("calls every tool".to_owned()),
        (Side::Publish, text) if text.starts_with("$JS.ACK.*.") => {
            return Some("acknowledges them, in the form of newer servers".to_owned());
        }
        (Side::Publish, text) if text.starts_with("$JS.ACK.") => {
            return Some("acknowledges the events that it is delivered".to_owned());
        }
        (Side::Publish, text) if text.starts_with("_INBOX.*.*.") => {
            return Some("answers whoever calls it, at addresses that name it".to_owned());
        }
        _ => {}
    }
    let subject = filter.as_subject()?;
    if grant.side == Side::Subscribe && DeliverySubject::parse(&subject).is_ok() {
        return Some("is delivered the events that it consumes".to_owned());
    }
    Some(match (grant.side, MeshSubject::parse(&subject).ok()?) {
        (Side::Publish, MeshSubject::Event { module, event }) => {
            format!("emits the event {module}.{event}")
        }
        (Side::Publish, MeshSubject::Tool { module, tool }) => {
            format!("calls the tool {module}.{tool}")
        }
        (Side::Subscribe, MeshSubject::Tool { tool, .. }) if is_reserved_tool(tool.as_str()) => {
            format!("answers the controller's {tool}, for what it provides")
        }
        (Side::Subscribe, MeshSubject::Tool { module, tool }) => {
            format!("answers calls of its tool {module}.{tool}")
        }
        _ => return None,
    })
}

fn plainly(grant: &Grant) -> String {
    let does = match (grant.side, grant.effect) {
        (Side::Publish, Effect::Allow) => "publishes to",
        (Side::Publish, Effect::Deny) => "never publishes to",
        (Side::Subscribe, Effect::Allow) => "subscribes to",
        (Side::Subscribe, Effect::Deny) => "never hears",
    };
    match &grant.rule.group {
        None => format!("{does} {}", grant.rule.filter),
        Some(group) => format!("{does} {} in queue group {group}", grant.rule.filter),
    }
}
