//! What in definitions a node would import as less safe than it looks, or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::definitions::{SECTIONS, which};
use super::{Definitions, PasswordHash};

/// Something in definitions that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Finding {
    /// A row that is there twice: the last one counts, or the import stops there.
    Twice {
        /// The section and which row.
        row: String,
    },
    /// A user who may be in a virtual host, and has no row for a topic exchange there: all keys are allowed.
    NoTopicRow {
        /// The user.
        user: String,
        /// The exchange.
        exchange: String,
    },
    /// An exchange of the mesh's that checks no keys.
    NoTopicExchange {
        /// The exchange.
        exchange: String,
    },
    /// A row that names something that no other row has.
    Unknown {
        /// The section and which row.
        row: String,
        /// What it names: `user ann`, `queue q`.
        names: String,
    },
    /// An expression that fits within a name, or none at its end: `^…$` fits one with a line break behind.
    NotAnchored {
        /// The section and which row.
        row: String,
        /// The side: `write`.
        side: &'static str,
    },
    /// A user who may declare queues, and so exchanges: it can forge any message through a binding of one.
    Declares {
        /// The user.
        user: String,
    },
    /// More than one user who may do everything.
    Almighty {
        /// The user.
        user: String,
    },
    /// A user without a salted hash of the wanted kind.
    NoHash {
        /// The user.
        user: String,
    },
    /// A user with a tag: who administers may change everybody's rights.
    Tagged {
        /// The user.
        user: String,
        /// The tags.
        tags: String,
    },
    /// The user that is there from the start, whose password everybody knows.
    Guest,
    /// A queue that keeps events, and is none that counts how often they were tried.
    NotQuorum {
        /// The queue.
        queue: String,
    },
    /// A name that is longer than the broker takes.
    TooLong {
        /// The section and which row.
        row: String,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice { row } => write!(f, "{row}: it is there twice"),
            Self::NoTopicRow { user, exchange } => {
                write!(
                    f,
                    "{user} has no row for the topic exchange {exchange}: all keys are allowed"
                )
            }
            Self::NoTopicExchange { exchange } => {
                write!(f, "{exchange} is no topic exchange: it checks no keys")
            }
            Self::Unknown { row, names } => write!(f, "{row}: there is no {names}"),
            Self::NotAnchored { row, side } => {
                write!(f, r"{row}: {side} is neither empty nor within ^(?:…)\z")
            }
            Self::Declares { user } => {
                write!(f, "{user} may declare queues, and so exchanges, and forge through them")
            }
            Self::Almighty { user } => write!(f, "{user} may do everything, beside another"),
            Self::NoHash { user } => write!(f, "{user} has no salted hash of a password"),
            Self::Tagged { user, tags } => write!(f, "{user} has the tag {tags}"),
            Self::Guest => f.write_str("guest is there, whose password everybody knows"),
            Self::NotQuorum { queue } => {
                write!(f, "{queue} is no quorum queue: it does not count tries")
            }
            Self::TooLong { row } => write!(f, "{row}: over 255 bytes"),
        }
    }
}

impl Definitions {
    /// What is not as it should be, sorted. An account that may do everything is the controller's where it is
    /// the only one.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut found = BTreeSet::new();
        self.rows_are_once(&mut found);
        self.names_are_there(&mut found);
        self.users_are_guarded(&mut found);
        self.rights_are_narrow(&mut found);
        self.topics_are_checked(&mut found);
        self.events_are_counted(&mut found);
        found.into_iter().collect()
    }

    fn rows_are_once(&self, found: &mut BTreeSet<Finding>) {
        for (section, fields) in SECTIONS {
            let mut seen = BTreeSet::new();
            for row in self.rows(section) {
                let name = format!("{section} {}", which(row, fields));
                if fields.iter().any(|field| text(row, field).len() > 255) {
                    found.insert(Finding::TooLong { row: name.clone() });
                }
                if !seen.insert(name.clone()) {
                    found.insert(Finding::Twice { row: name });
                }
            }
        }
    }

    fn names_are_there(&self, found: &mut BTreeSet<Finding>) {
        let of = |section: &str, fields: &[&str]| -> BTreeSet<String> {
            let rows = self.rows(section).iter();
            rows.map(|row| joined(row, fields)).collect()
        };
        let users = of("users", &["name"]);
        let hosts = of("vhosts", &["name"]);
        let queues = of("queues", &["vhost", "name"]);
        let exchanges = of("exchanges", &["vhost", "name"]);
        let looked: [(&str, &str, &[&str], &BTreeSet<String>); 10] = [
            ("permissions", "user", &["user"], &users),
            ("topic_permissions", "user", &["user"], &users),
            ("permissions", "virtual host", &["vhost"], &hosts),
            ("topic_permissions", "virtual host", &["vhost"], &hosts),
            ("policies", "virtual host", &["vhost"], &hosts),
            ("queues", "virtual host", &["vhost"], &hosts),
            ("exchanges", "virtual host", &["vhost"], &hosts),
            ("topic_permissions", "exchange", &["vhost", "exchange"], &exchanges),
            ("bindings", "exchange", &["vhost", "source"], &exchanges),
            ("bindings", "queue", &["vhost", "destination"], &queues),
        ];
        for (section, what, fields, known) in looked {
            for row in self.rows(section) {
                let exchange_bound = what == "queue" && text(row, "destination_type") != "queue";
                if exchange_bound || known.contains(&joined(row, fields)) {
                    continue;
                }
                let name = fields.last().map_or("", |field| text(row, field));
                found.insert(Finding::Unknown {
                    row: named(section, row),
                    names: format!("{what} {name}"),
                });
            }
        }
    }

    fn users_are_guarded(&self, found: &mut BTreeSet<Finding>) {
        for row in self.rows("users") {
            let user = text(row, "name").to_owned();
            if user == "guest" {
                found.insert(Finding::Guest);
            }
            let hashed = PasswordHash::new(text(row, "password_hash")).is_ok()
                && text(row, "hashing_algorithm") == PasswordHash::ALGORITHM;
            if !hashed {
                found.insert(Finding::NoHash { user: user.clone() });
            }
            let tags = match &row["tags"] {
                Value::Array(tags) => {
                    tags.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
                }
                other => other.as_str().unwrap_or_default().to_owned(),
            };
            if !tags.is_empty() {
                found.insert(Finding::Tagged { user, tags });
            }
        }
    }

    fn rights_are_narrow(&self, found: &mut BTreeSet<Finding>) {
        let mut almighty: BTreeMap<&str, usize> = BTreeMap::new();
        let is_almighty =
            |row: &Value| ["configure", "write", "read"].iter().all(|side| text(row, side) == ".*");
        for row in self.rows("permissions").iter().filter(|row| is_almighty(row)) {
            let others = almighty.entry(text(row, "vhost")).or_default();
            *others += 1;
            if *others > 1 {
                found.insert(Finding::Almighty { user: text(row, "user").to_owned() });
            }
        }
        for row in self.rows("permissions").iter().filter(|row| !is_almighty(row)) {
            if !text(row, "configure").is_empty() {
                found.insert(Finding::Declares { user: text(row, "user").to_owned() });
            }
            self.anchored("permissions", row, found);
        }
        for row in self.rows("topic_permissions") {
            if !self.rows("permissions").iter().any(|rights| {
                is_almighty(rights)
                    && rights["user"] == row["user"]
                    && rights["vhost"] == row["vhost"]
            }) {
                self.anchored("topic_permissions", row, found);
            }
        }
    }

    fn anchored(&self, section: &str, row: &Value, found: &mut BTreeSet<Finding>) {
        for side in ["write", "read"] {
            let expression = text(row, side);
            let opens = ["^(?:", r"^(?!(?:"].iter().any(|begin| expression.starts_with(begin));
            if !(expression.is_empty() || opens && expression.ends_with(r")\z")) {
                found.insert(Finding::NotAnchored { row: named(section, row), side });
            }
        }
    }

    fn topics_are_checked(&self, found: &mut BTreeSet<Finding>) {
        let mut rows = BTreeSet::new();
        for row in self.rows("topic_permissions") {
            rows.insert(joined(row, &["user", "vhost", "exchange"]));
        }
        for exchange in self.rows("exchanges") {
            let name = text(exchange, "name");
            if text(exchange, "type") != "topic" {
                if name.starts_with("mesh.") {
                    found.insert(Finding::NoTopicExchange { exchange: name.to_owned() });
                }
                continue;
            }
            let here = self.rows("permissions").iter();
            for rights in here.filter(|rights| rights["vhost"] == exchange["vhost"]) {
                let user = text(rights, "user");
                let row = [user, text(rights, "vhost"), name].join("\0");
                if !rows.contains(&row) {
                    let (user, exchange) = (user.to_owned(), name.to_owned());
                    found.insert(Finding::NoTopicRow { user, exchange });
                }
            }
        }
    }

    fn events_are_counted(&self, found: &mut BTreeSet<Finding>) {
        for row in self.rows("queues") {
            let name = text(row, "name");
            let keeps = mesh_core::topology::ConsumerRef::of_amqp_events(name).is_some();
            if keeps && row["arguments"]["x-queue-type"] != "quorum" {
                found.insert(Finding::NotQuorum { queue: name.to_owned() });
            }
        }
    }
}

fn text<'r>(row: &'r Value, field: &str) -> &'r str {
    row[field].as_str().unwrap_or_default()
}

fn joined(row: &Value, fields: &[&str]) -> String {
    fields.iter().map(|field| text(row, field)).collect::<Vec<_>>().join("\0")
}

fn named(section: &str, row: &Value) -> String {
    let fields =
        SECTIONS.iter().find(|(name, _)| *name == section).map_or(&[][..], |(_, fields)| fields);
    format!("{section} {}", which(row, fields))
}

#[cfg(test)]
mod tests;
