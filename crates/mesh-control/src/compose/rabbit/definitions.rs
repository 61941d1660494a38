use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use super::{DefinitionsError, PasswordHash, Rights};

/// The sections of a definitions file, each with the fields that say which row it is.
pub(super) const SECTIONS: &[(&str, &[&str])] = &[
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
/// Rows are what RabbitMQ's management API calls them. Whatever the order in which they were added, the file is
/// the same text.
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

    /// What a definitions file holds, or what a node exports. Single values, such as the version that wrote it,
    /// are left out.
    ///
    /// # Errors
    /// [`DefinitionsError`] for what is no JSON object, for a section that is no list of rows or not known
    /// here, and for a row that does not say which it is.
    pub fn parse(json: &str) -> Result<Self, DefinitionsError> {
        let all: Map<String, Value> = serde_json::from_str(json)
            .map_err(|error| DefinitionsError::Json(error.to_string()))?;
        let mut read = Self::new();
        for (section, rows) in all {
            match rows {
                Value::Array(rows) => {
                    for row in rows {
                        read = read.row(&section, row)?;
                    }
                }
                Value::Object(_) => return Err(DefinitionsError::NoList(section)),
                _ => {}
            }
        }
        Ok(read)
    }

    /// With any row, as the file has it.
    ///
    /// # Errors
    /// [`DefinitionsError`] for a section that is not known here, or a row that does not say which it is.
    pub fn row(mut self, section: &str, row: Value) -> Result<Self, DefinitionsError> {
        let Some((section, fields)) = SECTIONS.iter().find(|(name, _)| *name == section) else {
            return Err(DefinitionsError::Section(section.to_owned()));
        };
        if let Some(field) = fields.iter().find(|field| !row[**field].is_string()) {
            return Err(DefinitionsError::Row { section, field });
        }
        self.sections.entry(section).or_default().push(row);
        Ok(self)
    }

    /// With this virtual host.
    #[must_use]
    pub fn vhost(self, name: &str) -> Self {
        self.and("vhosts", json!({ "name": name }))
    }

    /// With this user; tags are for the management API: `administrator`, `monitoring`, or none.
    #[must_use]
    pub fn user(self, name: &str, hash: &PasswordHash, tags: &str) -> Self {
        let row = json!({
            "name": name,
            "password_hash": hash.as_str(),
            "hashing_algorithm": PasswordHash::ALGORITHM,
            "tags": tags,
        });
        self.and("users", row)
    }

    /// With what a user may do in a virtual host.
    #[must_use]
    pub fn rights(mut self, vhost: &str, user: &str, rights: &Rights) -> Self {
        let Rights { configure, write, read, topics } = rights;
        let row = json!({
            "user": user, "vhost": vhost, "configure": configure, "write": write, "read": read,
        });
        self = self.and("permissions", row);
        for topic in topics {
            self = self.topic(vhost, user, topic.exchange, &topic.write, &topic.read);
        }
        self
    }

    /// With which keys a user may use on a topic exchange: expressions.
    #[must_use]
    pub fn topic(self, vhost: &str, user: &str, exchange: &str, write: &str, read: &str) -> Self {
        let row = json!({
            "user": user, "vhost": vhost, "exchange": exchange, "write": write, "read": read,
        });
        self.and("topic_permissions", row)
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

    /// With all of another's rows.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        for (section, rows) in other.sections {
            self.sections.entry(section).or_default().extend(rows);
        }
        self
    }

    fn and(mut self, section: &'static str, row: Value) -> Self {
        self.sections.entry(section).or_default().push(row);
        self
    }

    /// The names of all sections, in the order in which a node imports them.
    #[must_use]
    pub fn sections() -> Vec<&'static str> {
        SECTIONS.iter().map(|(section, _)| *section).collect()
    }

    /// The rows of a section.
    #[must_use]
    pub fn rows(&self, section: &str) -> &[Value] {
        self.sections.get(section).map_or(&[], Vec::as_slice)
    }

    /// Everything that is in some virtual host, in this one. Users stay; virtual hosts go.
    #[must_use]
    pub fn moved_to(&self, vhost: &str) -> Self {
        let mut moved = self.clone();
        moved.sections.remove("vhosts");
        for row in moved.sections.values_mut().flatten() {
            if row.get("vhost").is_some() {
                row["vhost"] = vhost.into();
            }
        }
        moved
    }

    /// As the JSON of a file. Of passwords it has the salted hashes alone.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!(self.sections)
    }

    /// The file, a row a line, which a broker imports.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::from("{");
        for (number, (section, _)) in SECTIONS.iter().enumerate() {
            let rows = self.rows(section);
            text.push_str(if number == 0 { "\n" } else { ",\n" });
            text.push_str(&format!(" \"{section}\": ["));
            let mut lines: Vec<String> = rows.iter().map(Value::to_string).collect();
            lines.sort_unstable();
            for (number, line) in lines.iter().enumerate() {
                text.push_str(if number == 0 { "\n  " } else { ",\n  " });
                text.push_str(line);
            }
            text.push_str(if lines.is_empty() { "]" } else { "\n ]" });
        }
        text + "\n}\n"
    }

    /// Which rows a node does not have, or has otherwise, by what it exports of these sections: an import that
    /// stopped midway says that all is well, and what it left out allows everything.
    #[must_use]
    pub fn missing_in(&self, exported: &Value, sections: &[&str]) -> Vec<String> {
        let mut missing = Vec::new();
        for (section, fields) in SECTIONS.iter().filter(|(name, _)| sections.contains(name)) {
            let there = exported[section].as_array().map_or(&[][..], Vec::as_slice);
            let mut known: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
            for row in there {
                known.entry(which(row, fields)).or_default().push(row);
            }
            for row in self.rows(section) {
                let name = which(row, fields);
                let rows = known.get(&name).map_or(&[][..], Vec::as_slice);
                if !rows.iter().any(|other| has(section, other, row)) {
                    missing.push(format!("{section} {name}"));
                }
            }
        }
        missing
    }
}

/// Which row it is, as it is told.
pub(super) fn which(row: &Value, fields: &[&str]) -> String {
    let which: Vec<_> = fields.iter().map(|field| row[field].to_string()).collect();
    which.join(" ")
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
