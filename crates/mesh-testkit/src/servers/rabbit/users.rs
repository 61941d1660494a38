//! Users belong to the node, whatever the virtual host: those of two tests must not differ.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::Definitions;
use super::account::is_hash_of;
use crate::servers::ServerError;

/// The hash of each user's password on a node, as this process has set it.
#[derive(Clone, Debug, Default)]
pub(super) struct Users {
    hashes: Arc<Mutex<HashMap<String, String>>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Users {
    /// Those of definitions that the node has.
    pub(super) fn of(definitions: &Definitions) -> Self {
        let hashes = definitions.rows("users").iter().filter_map(|row| {
            Some((row["name"].as_str()?.to_owned(), row["password_hash"].as_str()?.to_owned()))
        });
        Self { hashes: Arc::new(Mutex::new(hashes.collect())), turn: Arc::default() }
    }

    /// For whoever is about to send a user's row: the node refuses one of two that come together.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The row to send for a user: with the hash that is there, if it is of the same password.
    pub(super) fn agree(
        &self,
        mut row: Value,
        password: Option<&str>,
    ) -> Result<Value, ServerError> {
        let name = row["name"].as_str().unwrap_or_default().to_owned();
        let hash = row["password_hash"].as_str().unwrap_or_default().to_owned();
        let mut known = self.hashes.lock();
        let there = known.entry(name).or_insert_with(|| hash.clone());
        if *there != hash && !password.is_some_and(|password| is_hash_of(there, password)) {
            let told = format!("the node's user {} has another password", row["name"]);
            return Err(ServerError::Refused(told));
        }
        row["password_hash"] = there.clone().into();
        Ok(row)
    }

    pub(super) fn forget(&self, name: &str) {
        self.hashes.lock().remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::rabbit::{Account, password_hash};

    fn row(password: &str) -> Value {
        Account::new("ann", password).rows("v").remove(0).1
    }

    #[test]
    fn two_tests_agree_on_a_password_or_hear_of_it() {
        let users = Users::default();
        // As a file has it, with another salt.
        let mut first = row("one");
        first["password_hash"] = password_hash("one", *b"salt").into();
        assert_eq!(users.agree(first.clone(), None).unwrap(), first);
        assert_eq!(users.agree(row("one"), Some("one")).unwrap(), first);
        assert_eq!(users.agree(first.clone(), None).unwrap(), first);
        for password in [Some("two"), None] {
            let told = users.agree(row("two"), password).unwrap_err().to_string();
            assert!(told.contains("\"ann\" has another password"), "{told}");
        }
        users.forget("ann");
        users.agree(row("two"), Some("two")).unwrap();
    }
}
