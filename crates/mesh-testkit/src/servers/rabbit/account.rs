use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mesh_control::compose::rabbit::{Declares, Definitions, PasswordHash, Rights};
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use ring::digest::{Context, SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;

use crate::servers::ServerError;

/// A password as a definitions file holds it: base64 of the salt and of SHA-256 over salt and
/// password. The algorithm's name there is `rabbit_password_hashing_sha256`.
#[must_use]
pub fn password_hash(password: &str, salt: [u8; 4]) -> String {
    hashed(password, salt).as_str().to_owned()
}

fn hashed(password: &str, salt: [u8; PasswordHash::SALT]) -> PasswordHash {
    let mut context = Context::new(&SHA256);
    context.update(&salt);
    context.update(password.as_bytes());
    let digest = context.finish().as_ref().first_chunk().copied().unwrap_or_default();
    PasswordHash::of(salt, digest)
}

/// The hash of a user's password. The salt comes from name and password, so that two tests that agree on them
/// send the same.
pub(super) fn hash_of(name: &str, password: &str) -> PasswordHash {
    let told = digest(&SHA256, format!("{name}\0{password}").as_bytes());
    hashed(password, told.as_ref().first_chunk().copied().unwrap_or_default())
}

/// Whether this is the password's hash.
pub(super) fn is_hash_of(hash: &str, password: &str) -> bool {
    let bytes = STANDARD.decode(hash).unwrap_or_default();
    bytes.first_chunk().is_some_and(|salt| password_hash(password, *salt) == hash)
}

/// 16 random bytes, as hex digits.
pub(super) fn secret() -> Result<String, ServerError> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| ServerError::State("no randomness"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Somebody whom a node lets in, and what that may do in one virtual host. Rights are regular
/// expressions; an empty one allows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    name: String,
    password: String,
    tags: String,
    rights: Option<[String; 3]>,
    topics: Vec<[String; 3]>,
}

impl Account {
    /// One without rights: it enters no virtual host.
    #[must_use]
    pub fn new(name: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            password: password.into(),
            tags: String::new(),
            rights: None,
            topics: Vec::new(),
        }
    }

    /// What it may configure, write to and read from: expressions on names of queues and exchanges.
    #[must_use]
    pub fn rights(
        mut self,
        configure: impl Into<String>,
        write: impl Into<String>,
        read: impl Into<String>,
    ) -> Self {
        self.rights = Some([configure.into(), write.into(), read.into()]);
        self
    }

    /// Everything.
    #[must_use]
    pub fn all_rights(self) -> Self {
        self.rights(".*", ".*", ".*")
    }

    /// Which routing keys it may write to, and read from, on this topic exchange. Without a row for an
    /// exchange all are allowed.
    #[must_use]
    pub fn topic(
        mut self,
        exchange: impl Into<String>,
        write: impl Into<String>,
        read: impl Into<String>,
    ) -> Self {
        self.topics.push([exchange.into(), write.into(), read.into()]);
        self
    }

    /// For the management API: `administrator`, `monitoring`; several with commas.
    #[must_use]
    pub fn tags(mut self, tags: impl Into<String>) -> Self {
        self.tags = tags.into();
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its password.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The same with what `permissions` allow `principal`, whose user it need not be called after.
    #[must_use]
    pub fn permitted(
        self,
        principal: &Principal,
        permissions: &Permissions,
        declares: Declares,
    ) -> Self {
        let Rights { configure, write, read, topics, .. } =
            Rights::of(self.name(), principal, permissions, declares);
        let account = self.rights(configure, write, read);
        topics
            .into_iter()
            .fold(account, |account, row| account.topic(row.exchange, row.write, row.read))
    }

    /// As a definitions file has it.
    pub(super) fn definitions(&self, vhost: &str) -> Definitions {
        let Self { name, password, tags, .. } = self;
        let mut definitions = Definitions::new().user(name, &hash_of(name, password), tags);
        if let Some([configure, write, read]) = &self.rights {
            let rights = Rights::new(configure, write, read);
            definitions = definitions.rights(vhost, name, &rights);
        }
        for [exchange, write, read] in &self.topics {
            definitions = definitions.topic(vhost, name, exchange, write, read);
        }
        definitions
    }

    /// Its rows, with their sections.
    pub(super) fn rows(&self, vhost: &str) -> Vec<(&'static str, Value)> {
        let definitions = self.definitions(vhost);
        let sections = ["users", "permissions", "topic_permissions"].into_iter();
        sections
            .flat_map(|section| {
                let rows = definitions.rows(section).iter().cloned();
                rows.map(move |row| (section, row)).collect::<Vec<_>>()
            })
            .collect()
    }
}

/// The password is not shown.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("name", &self.name)
            .field("tags", &self.tags)
            .field("rights", &self.rights)
            .field("topics", &self.topics)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_rabbitmqs_manual() {
        // "test12" with the salt 908D C60A, from the manual's chapter on passwords.
        let hash = password_hash("test12", [0x90, 0x8d, 0xc6, 0x0a]);
        assert_eq!(hash, "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR");
        assert!(is_hash_of(&hash, "test12"));
        assert!(!is_hash_of(&hash, "test1") && !is_hash_of("", "") && !is_hash_of("?", ""));
    }

    #[test]
    fn rows_hold_what_was_said_and_the_password_is_shown_nowhere() {
        let account = Account::new("n1.m1", "secret").rights("", "w", "r").topic("t", "k", "");
        let rows = account.rows("v");
        let sections: Vec<_> = rows.iter().map(|(section, _)| *section).collect();
        assert_eq!(sections, ["users", "permissions", "topic_permissions"]);
        assert_eq!(rows[1].1["configure"], "");
        assert_eq!(rows[2].1["exchange"], "t");
        assert!(is_hash_of(rows[0].1["password_hash"].as_str().unwrap(), "secret"));
        assert!(!format!("{account:?}{rows:?}").contains("secret"));
        // Another test that says the same sends the same, and another user has another salt.
        assert_eq!(account.rows("v"), rows);
        let other = Account::new("n2.m1", "secret").rows("v");
        assert_ne!(other[0].1["password_hash"], rows[0].1["password_hash"]);
    }
}
