//! Accounts and users as a nats-server reads them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use mesh_core::manifest::{Bus, Limits, SecretKind};
use mesh_core::permissions::{Permissions, Responses, Rules};
use mesh_core::topology::Passage;

use super::super::{Account, ComposeError, Verifier};
use super::quote::{quote, quoted};

/// Who logs in where, and what passes between the accounts: the part of a nats-server's configuration
/// that says `system_account` and `accounts`. [`Composition::nats`](super::super::Composition::nats)
/// writes it with the rest; who composes users of their own, tests and adoption, use it directly.
///
/// ```
/// use mesh_control::compose::{Account, Accounts, Verifier};
/// use mesh_core::manifest::Bus;
/// use mesh_core::permissions::Permissions;
///
/// let hash = "$2b$04$EgcJGzFHQy0BvbkZVsYpHOFH8JqRTPu3ZGcJk7nRYG8/wqCYxyGsi";
/// let accounts = Accounts::of(&Bus::default())
///     .with("o\"dd", Account::Edge, &Permissions::default(), &Verifier::bcrypt(hash)?)?;
/// let text = accounts.text()?;
/// // Nothing is allowed, and that has to be said: an empty list would allow everything.
/// assert!(text.contains(r#"user: "o\"dd""#) && text.contains(r#"publish: { deny: [">"] }"#), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Accounts {
    prefix: String,
    limits: Limits,
    services: Vec<String>,
    /// Each account's users, by name, as lines.
    users: BTreeMap<Account, BTreeMap<String, String>>,
}

impl Accounts {
    /// Nobody yet, with the names and limits of this bus.
    #[must_use]
    pub fn of(bus: &Bus) -> Self {
        Self {
            prefix: bus.account_prefix.as_str().to_owned(),
            limits: bus.limits.clone(),
            services: Vec::new(),
            users: BTreeMap::new(),
        }
    }

    /// The same with this user.
    ///
    /// # Errors
    /// [`ComposeError::UserTwice`] for a name that is there already, in whichever account, and
    /// [`ComposeError::Value`] for one with a control character.
    pub fn with(
        mut self,
        name: &str,
        account: Account,
        permissions: &Permissions,
        verifier: &Verifier,
    ) -> Result<Self, ComposeError> {
        if self.users.values().any(|users| users.contains_key(name)) {
            return Err(ComposeError::UserTwice(name.to_owned()));
        }
        let line = line(name, permissions, verifier)?;
        self.users.entry(account).or_default().insert(name.to_owned(), line);
        Ok(self)
    }

    /// The same with one more service that BUS lends to EDGE: to show what it would let through.
    #[must_use]
    pub fn with_service(mut self, subject: impl Into<String>) -> Self {
        self.services.push(subject.into());
        self
    }

    /// The lines. Accounts without users are left out, but the server's own: one whose list of users is
    /// empty admits nobody, and the server takes it.
    ///
    /// # Errors
    /// [`ComposeError::Value`] for a service with a control character.
    pub fn text(&self) -> Result<String, ComposeError> {
        Ok(self.system()? + &self.block()?)
    }

    /// The line that names the server's own account.
    pub(super) fn system(&self) -> Result<String, ComposeError> {
        Ok(format!("system_account: {}\n", self.name(Account::Sys)?))
    }

    /// The accounts.
    pub(super) fn block(&self) -> Result<String, ComposeError> {
        Ok(format!("accounts {{\n  {} {{}}\n{}}}\n", self.name(Account::Sys)?, self.within()?))
    }

    /// What stands within `accounts { … }`, but the server's own account.
    ///
    /// # Errors
    /// As [`text`](Self::text).
    pub fn within(&self) -> Result<String, ComposeError> {
        let mut text = String::new();
        for (account, users) in &self.users {
            _ = writeln!(text, "  {} {{", self.name(*account)?);
            match account {
                Account::Bus => {
                    text.push_str("    jetstream: enabled\n    exports: [\n");
                    for (kind, subject) in self.passages() {
                        let (subject, edge) =
                            (quoted("a service", &subject)?, self.name(Account::Edge)?);
                        _ = writeln!(text, "      {{ {kind}: {subject}, accounts: [{edge}] }}");
                    }
                    text.push_str("    ]\n");
                }
                Account::Edge => {
                    let Limits { edge_connections, edge_subscriptions, .. } = self.limits;
                    _ = writeln!(
                        text,
                        "    limits {{ max_connections: {edge_connections}, \
                         max_subscriptions: {edge_subscriptions} }}"
                    );
                    text.push_str("    imports: [\n");
                    for (kind, subject) in self.passages() {
                        let (subject, bus) =
                            (quoted("a service", &subject)?, self.name(Account::Bus)?);
                        _ = writeln!(
                            text,
                            "      {{ {kind}: {{ account: {bus}, subject: {subject} }} }}"
                        );
                    }
                    text.push_str("    ]\n");
                }
                Account::Mesh | Account::State(_) => text.push_str("    jetstream: enabled\n"),
                Account::Sys | Account::Backbone | Account::Realm(_) => {}
            }
            text.push_str("    users: [\n");
            text.extend(users.values().map(String::as_str));
            text.push_str("    ]\n  }\n");
        }
        Ok(text)
    }

    fn name(&self, account: Account) -> Result<String, ComposeError> {
        quoted("an account", &format!("{}{account}", self.prefix))
    }

    /// What passes from EDGE into BUS, and the deliveries that pass back. Nothing does without both.
    fn passages(&self) -> Vec<(&'static str, String)> {
        if !self.users.contains_key(&Account::Bus) || !self.users.contains_key(&Account::Edge) {
            return Vec::new();
        }
        let (mut services, mut deliveries) = (Vec::new(), Vec::new());
        for passage in Passage::all() {
            match passage {
                Passage::Service(subject) => services.push(("service", subject.to_string())),
                Passage::Stream(subject) => deliveries.push(("stream", subject.to_string())),
            }
        }
        let more = self.services.iter().map(|subject| ("service", subject.clone()));
        services.into_iter().chain(more).chain(deliveries).collect()
    }
}

fn line(
    name: &str,
    permissions: &Permissions,
    verifier: &Verifier,
) -> Result<String, ComposeError> {
    let field = format!("the user {name:?}");
    let name = quoted(&field, name)?;
    let verifier_text = quoted(&field, verifier.as_str())?;
    let (comment, who) = match verifier.kind() {
        // To the server its key is all that it is called: the name is for who reads the file.
        SecretKind::NKey => (format!("      # {name}\n"), format!("nkey: {verifier_text}")),
        SecretKind::Bcrypt => (String::new(), format!("user: {name}, password: {verifier_text}")),
    };
    let permissions = self::permissions(permissions)?;
    Ok(format!(
        "{comment}      {{ {who}, allowed_connection_types: [\"STANDARD\"], permissions: {permissions} }}\n"
    ))
}

/// A user's permissions as nats-server reads them. An empty list would allow everything.
fn permissions(permissions: &Permissions) -> Result<String, ComposeError> {
    let Permissions { publish, subscribe, responses } = permissions;
    let mut text = "{ publish: ".to_owned();
    rules(&mut text, publish)?;
    text.push_str(", subscribe: ");
    rules(&mut text, subscribe)?;
    if let Some(Responses { max, expires }) = responses {
        let expires = expires.as_millis();
        _ = write!(text, ", allow_responses: {{ max: {max}, expires: \"{expires}ms\" }}");
    }
    Ok(text + " }")
}

fn rules(text: &mut String, rules: &Rules) -> Result<(), ComposeError> {
    if rules.allowed().is_empty() {
        text.push_str("{ deny: [\">\"] }");
        return Ok(());
    }
    let allowed = rules.allowed().iter().map(|rule| match &rule.group {
        Some(group) => Cow::Owned(format!("{} {group}", rule.filter)),
        None => Cow::Borrowed(rule.filter.as_str()),
    });
    text.push_str("{ allow: ");
    list(text, allowed.collect())?;
    if !rules.denied().is_empty() {
        text.push_str(", deny: ");
        list(text, rules.denied().iter().map(|filter| filter.as_str().into()).collect())?;
    }
    text.push_str(" }");
    Ok(())
}

/// In one order, whatever order the files have.
fn list(text: &mut String, mut items: Vec<Cow<'_, str>>) -> Result<(), ComposeError> {
    items.sort_unstable();
    items.dedup();
    text.push('[');
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            text.push_str(", ");
        }
        quote(text, "a subject", item)?;
    }
    text.push(']');
    Ok(())
}
