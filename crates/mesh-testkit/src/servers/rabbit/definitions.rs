use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use super::Account;
use crate::servers::ServerError;

/// The sections of a definitions file, each with the fields that say which row it is.
const SECTIONS: &[(&str, &[&str])] = &[
    ("users", &["name"]),
    ("vhosts", &["name"]),
    ("permissions", &["user", "vhost"]),
    ("topic_permissions", &["user", "vhost", "exchange"]),
    ("parameters", &["vhost", "component", "name"]),
    ("global_parameters", &["name"]),
    ("policies", &["vhost", "name"]),
    ("queues", &["vhost", "name"]),
    ("exchanges", &["vhost", "name"]),
    ("bindings", &["vhost", "source", "destination_type", "destination", "routing_key"]),
];

/// What a definitions file holds: users, virtual hosts, rights, policies, queues, exchanges, bindings.
///
/// RabbitMQ stops at the first row that it does not like, goes on without the rest, and says that all
/// is well: a missing topic row allows everything. So whoever imports these asks the node afterwards
/// for each of their rows.
#[derive(Clone, Default, PartialEq)]
pub struct Definitions {
    sections: BTreeMap<&'static str, Vec<Value>>,
}

impl Definitions {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What a definitions file holds. Single values, such as the version that wrote it, are left out.
    ///
    /// # Errors
    /// [`ServerError::Refused`] for what is no JSON object, for a section that is no list of rows or
    /// not known here, and for a row that does not say which it is.
    pub fn parse(json: &str) -> Result<Self, ServerError> {
        let refused = |why: String| ServerError::Refused(format!("definitions: {why}"));
        let all: Map<String, Value> =
            serde_json::from_str(json).map_err(|error| refused(error.to_string()))?;
        let mut read = Self::new();
        for (section, rows) in all {
            match rows {
                Value::Array(rows) => {
                    for row in rows {
                        read.add(&section, row)?;
                    }
                }
                Value::Object(_) => return Err(refused(format!("{section} is no list"))),
                _ => {}
            }
        }
        Ok(read)
    }

    /// With this virtual host.
    #[must_use]
    pub fn vhost(self, name: &str) -> Self {
        self.and("vhosts", json!({ "name": name }))
    }

    /// With this account, whose rights are in this virtual host.
    #[must_use]
    pub fn account(self, vhost: &str, account: &Account) -> Self {
        let rows = account.rows(vhost).into_iter();
        rows.fold(self, |all, (section, row)| all.and(section, row))
    }

    /// With a durable exchange: `topic`, `direct`, `fanout`, `headers`.
    #[must_use]
    pub fn exchange(self, vhost: &str, name: &str, kind: &str) -> Self {
        let row = json!({
            "vhost": vhost, "name": name, "type": kind,
            "durable": true, "auto_delete": false, "internal": false, "arguments": {},
        });
        self.and("exchanges", row)
    }

    /// With a durable queue of these arguments: `{"x-queue-type": "quorum"}`, or none: `{}`.
    #[must_use]
    pub fn queue(self, vhost: &str, name: &str, arguments: &Value) -> Self {
        let row = json!({
            "vhost": vhost, "name": name,
            "durable": true, "auto_delete": false, "arguments": arguments,
        });
        self.and("queues", row)
    }

    /// With a binding of this queue.
    #[must_use]
    pub fn binding(self, vhost: &str, exchange: &str, queue: &str, key: &str) -> Self {
        let row = json!({
            "vhost": vhost, "source": exchange, "destination": queue,
            "destination_type": "queue", "routing_key": key, "arguments": {},
        });
        self.and("bindings", row)
    }

    /// With a policy for the queues whose name fits the expression.
    #[must_use]
    pub fn policy(self, vhost: &str, name: &str, pattern: &str, definition: &Value) -> Self {
        let row = json!({
            "vhost": vhost, "name": name, "pattern": pattern,
            "apply-to": "queues", "priority": 0, "definition": definition,
        });
        self.and("policies", row)
    }

    /// With any row, as the file has it.
    ///
    /// # Errors
    /// [`ServerError::Refused`] for a section that is not known here, or a row that does not say which
    /// it is.
    pub fn row(mut self, section: &str, row: Value) -> Result<Self, ServerError> {
        self.add(section, row)?;
        Ok(self)
    }

    fn and(mut self, section: &'static str, row: Value) -> Self {
        self.sections.entry(section).or_default().push(row);
        self
    }

    fn add(&mut self, section: &str, row: Value) -> Result<(), ServerError> {
        let refused = |why: String| Err(ServerError::Refused(format!("definitions: {why}")));
        let Some((section, fields)) = SECTIONS.iter().find(|(name, _)| *name == section) else {
            return refused(format!("no section is called {section}"));
        };
        if let Some(field) = fields.iter().find(|field| !row[**field].is_string()) {
            return refused(format!("a row of {section} has no {field}"));
        }
        self.sections.entry(section).or_default().push(row);
        Ok(())
    }

    /// The names of all sections.
    pub(super) fn sections() -> Vec<&'static str> {
        SECTIONS.iter().map(|(section, _)| *section).collect()
    }

    /// The rows of a section.
    pub(super) fn rows(&self, section: &str) -> &[Value] {
        self.sections.get(section).map_or(&[], Vec::as_slice)
    }

    /// Everything that is in some virtual host, in this one. Users stay; virtual hosts go.
    pub(super) fn moved_to(&self, vhost: &str) -> Self {
        let mut moved = self.clone();
        moved.sections.remove("vhosts");
        for row in moved.sections.values_mut().flatten() {
            if row.get("vhost").is_some() {
                row["vhost"] = vhost.into();
            }
        }
        moved
    }

    /// The rows of others before these.
    pub(super) fn after(&self, first: Self) -> Self {
        let mut all = first;
        for (section, rows) in &self.sections {
            all.sections.entry(section).or_default().extend(rows.iter().cloned());
        }
        all
    }

    /// As a file, which a broker imports. Of passwords it has the salted hashes alone.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!(self.sections)
    }

    /// Which rows a node does not have, by what it exports of these sections.
    pub(super) fn missing_in(&self, exported: &Value, sections: &[&str]) -> Vec<String> {
        let mut missing = Vec::new();
        for (section, fields) in SECTIONS.iter().filter(|(name, _)| sections.contains(name)) {
            let there = exported[section].as_array().map_or(&[][..], Vec::as_slice);
            for row in self.rows(section) {
                if !there.iter().any(|other| has(section, other, row)) {
                    let which: Vec<_> = fields.iter().map(|field| row[field].to_string()).collect();
                    missing.push(format!("{section} {}", which.join(" ")));
                }
            }
        }
        missing
    }
}

/// Whether the node's row says all that ours does. Of users and virtual hosts it exports other forms.
fn has(section: &str, there: &Value, ours: &Value) -> bool {
    let same = |field: &str| there[field] == ours[field];
    match section {
        "users" => same("name") && same("password_hash"),
        "vhosts" => same("name"),
        _ => ours.as_object().is_some_and(|ours| ours.keys().all(|field| same(field))),
    }
}

/// How many rows; they hold hashes of passwords.
impl fmt::Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.sections.iter().map(|(section, rows)| (section, rows.len()));
        f.debug_map().entries(counts).finish()
    }
}

#[cfg(test)]
mod tests;
