use std::fmt;

use mesh_control::compose::rabbit::{self as composed, DefinitionsError};
use serde_json::Value;

use super::Account;
use crate::servers::ServerError;

/// What a definitions file holds: users, virtual hosts, rights, policies, queues, exchanges, bindings. It is what
/// `mesh-control` composes, with accounts that know their passwords.
///
/// RabbitMQ stops at the first row that it does not like, goes on without the rest, and says that all
/// is well: a missing topic row allows everything. So whoever imports these asks the node afterwards
/// for each of their rows.
#[derive(Clone, Default, PartialEq)]
pub struct Definitions(composed::Definitions);

impl From<composed::Definitions> for Definitions {
    fn from(composed: composed::Definitions) -> Self {
        Self(composed)
    }
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
        composed::Definitions::parse(json).map(Self).map_err(refused)
    }

    /// With this virtual host.
    #[must_use]
    pub fn vhost(self, name: &str) -> Self {
        Self(self.0.vhost(name))
    }

    /// With this account, whose rights are in this virtual host.
    #[must_use]
    pub fn account(self, vhost: &str, account: &Account) -> Self {
        Self(self.0.with(account.definitions(vhost)))
    }

    /// With a durable exchange: `topic`, `direct`, `fanout`, `headers`.
    #[must_use]
    pub fn exchange(self, vhost: &str, name: &str, kind: &str) -> Self {
        Self(self.0.exchange(vhost, name, kind))
    }

    /// With a durable queue of these arguments: `{"x-queue-type": "quorum"}`, or none: `{}`.
    #[must_use]
    pub fn queue(self, vhost: &str, name: &str, arguments: &Value) -> Self {
        Self(self.0.queue(vhost, name, arguments))
    }

    /// With a binding of this queue.
    #[must_use]
    pub fn binding(self, vhost: &str, exchange: &str, queue: &str, key: &str) -> Self {
        Self(self.0.binding(vhost, exchange, queue, key))
    }

    /// With a policy for the queues whose name fits the expression.
    #[must_use]
    pub fn policy(self, vhost: &str, name: &str, pattern: &str, definition: &Value) -> Self {
        Self(self.0.policy(vhost, name, pattern, definition))
    }

    /// With any row, as the file has it.
    ///
    /// # Errors
    /// [`ServerError::Refused`] for a section that is not known here, or a row that does not say which
    /// it is.
    pub fn row(self, section: &str, row: Value) -> Result<Self, ServerError> {
        self.0.row(section, row).map(Self).map_err(refused)
    }

    /// The names of all sections.
    pub(super) fn sections() -> Vec<&'static str> {
        composed::Definitions::sections()
    }

    /// The rows of a section.
    pub(super) fn rows(&self, section: &str) -> &[Value] {
        self.0.rows(section)
    }

    /// Everything that is in some virtual host, in this one. Users stay; virtual hosts go.
    pub(super) fn moved_to(&self, vhost: &str) -> Self {
        Self(self.0.moved_to(vhost))
    }

    /// The rows of others before these.
    pub(super) fn after(&self, first: Self) -> Self {
        Self(first.0.with(self.0.clone()))
    }

    /// As a file, which a broker imports. Of passwords it has the salted hashes alone.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.0.to_json()
    }

    /// Which rows a node does not have, by what it exports of these sections.
    pub(super) fn missing_in(&self, exported: &Value, sections: &[&str]) -> Vec<String> {
        self.0.missing_in(exported, sections)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn refused(error: DefinitionsError) -> ServerError {
    ServerError::Refused(error.to_string())
}

/// How many rows; they hold hashes of passwords.
impl fmt::Debug for Definitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_come_first() {
        let some = Definitions::new().account("v", &Account::new("ann", "secret"));
        let all = some.after(Definitions::new().account("v", &Account::new("root", "r")));
        let names: Vec<_> = all.rows("users").iter().map(|row| row["name"].clone()).collect();
        assert_eq!(names, ["root", "ann"]);
    }

    #[test]
    fn a_refusal_says_what_is_wrong() {
        let told = Definitions::parse(r#"{"queus": [{}]}"#).unwrap_err().to_string();
        assert!(told.contains("no section is called queus"), "{told}");
    }
}
