use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::users::Users;
use super::{Account, Definitions, Management};
use crate::servers::ServerError;

/// What a node exports of one virtual host.
const EXPORTED: &[&str] = &["parameters", "policies", "queues", "exchanges", "bindings"];

/// A virtual host of one test, on a node that others use too. It is removed with all that is in it when
/// this is dropped; that closes its connections. The drop waits for the node, for 5 s at most.
///
/// Users belong to the node. Tests that use one name must use one password; their rights are apart.
pub struct VirtualHost {
    name: String,
    address: SocketAddr,
    management: Management,
    users: Users,
    removed: bool,
}

impl VirtualHost {
    pub(super) async fn make(
        address: SocketAddr,
        management: Management,
        users: Users,
    ) -> Result<Self, ServerError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("test-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        // Before it is there, so that nothing is left if nobody waits for the answer.
        let host = Self { name, address, management, users, removed: false };
        host.management.put(&["vhosts", &host.name], &json!({})).await?;
        Ok(host)
    }

    /// Its name, which no other of this process has.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `amqps://`, the account, the node's address and this virtual host, percent-encoded.
    #[must_use]
    pub fn url_of(&self, user: &str, password: &str) -> String {
        url(self.address, user, password, &self.name)
    }

    /// The node's HTTP API.
    #[must_use]
    pub fn management(&self) -> &Management {
        &self.management
    }

    /// Adds an account with its rights here, or gives it other rights.
    ///
    /// # Errors
    /// [`ServerError::Refused`], if the node has the user with another password;
    /// [`ServerError::Status`], if it refuses a row.
    pub async fn account(&self, account: &Account) -> Result<(), ServerError> {
        for (section, row) in account.rows(&self.name) {
            self.put_right(section, row, Some(account.password())).await?;
        }
        Ok(())
    }

    /// Removes a user from the node: its connections to any virtual host are closed at once.
    ///
    /// # Errors
    /// [`ServerError::Status`] with 404, if there is none.
    pub async fn remove_user(&self, name: &str) -> Result<(), ServerError> {
        self.users.forget(name);
        self.management.delete(&["users", name]).await
    }

    /// Adds everything that the definitions say of any virtual host, here, and asks whether each row
    /// came through. Virtual hosts and global parameters of theirs are left out.
    ///
    /// # Errors
    /// [`ServerError::Refused`] that names the rows that are not there afterwards, or a user that the
    /// node has with another password; [`ServerError::Status`], if it refuses a row.
    pub async fn import(&self, definitions: &Definitions) -> Result<(), ServerError> {
        let moved = definitions.moved_to(&self.name);
        for section in ["users", "permissions", "topic_permissions"] {
            for row in moved.rows(section) {
                self.put_right(section, row.clone(), None).await?;
            }
        }
        let mut body = moved.to_json();
        if let Some(sections) = body.as_object_mut() {
            sections.retain(|section, _| EXPORTED.contains(&section.as_str()));
        }
        self.management.post(&["definitions", &self.name], &body).await?;
        self.verify(&moved).await
    }

    async fn verify(&self, wanted: &Definitions) -> Result<(), ServerError> {
        let mut there = self.management.get(&["definitions", &self.name]).await?;
        // Most rows of one virtual host are exported without its name.
        for section in EXPORTED {
            for row in there[*section].as_array_mut().into_iter().flatten() {
                row["vhost"] = self.name.as_str().into();
            }
        }
        let rights = [("permissions", "permissions"), ("topic_permissions", "topic-permissions")];
        for (section, path) in rights {
            there[section] = self.management.get(&["vhosts", &self.name, path]).await?;
        }
        let sections = [EXPORTED, &["permissions", "topic_permissions"]].concat();
        let missing = wanted.missing_in(&there, &sections);
        if missing.is_empty() {
            return Ok(());
        }
        Err(ServerError::Refused(format!("not imported: {}", missing.join("; "))))
    }

    async fn put_right(
        &self,
        section: &str,
        row: Value,
        password: Option<&str>,
    ) -> Result<(), ServerError> {
        let user = row["user"].as_str().unwrap_or_default().to_owned();
        let management = &self.management;
        match section {
            "users" => {
                let row = self.users.agree(row, password)?;
                let name = row["name"].as_str().unwrap_or_default();
                let _turn = self.users.turn().await;
                management.put(&["users", name], &row).await?;
            }
            "permissions" => {
                management.put(&["permissions", &self.name, &user], &row).await?;
            }
            _ => {
                management.put(&["topic-permissions", &self.name, &user], &row).await?;
            }
        }
        Ok(())
    }

    /// Removes it now.
    ///
    /// # Errors
    /// [`ServerError::Io`], if the node is down.
    pub async fn remove(mut self) -> Result<(), ServerError> {
        self.management.delete(&["vhosts", &self.name]).await?;
        self.removed = true;
        Ok(())
    }
}

impl Drop for VirtualHost {
    fn drop(&mut self) {
        if !self.removed {
            // The node may be gone, and then this is, too.
            let _ = self.management.delete_blocking(&["vhosts", &self.name]);
        }
    }
}

impl fmt::Debug for VirtualHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualHost").field("name", &self.name).finish_non_exhaustive()
    }
}

/// `amqps://user:password@address/vhost`, percent-encoded.
pub(super) fn url(address: SocketAddr, user: &str, password: &str, vhost: &str) -> String {
    let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
    format!("amqps://{}:{}@{address}/{}", encoded(user), encoded(password), encoded(vhost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_url_is_encoded() {
        assert_eq!(
            url(([127, 0, 0, 1], 5671).into(), "n1.m1", "p@ss/1", "/"),
            "amqps://n1%2Em1:p%40ss%2F1@127.0.0.1:5671/%2F"
        );
    }
}
