use super::conf::{Value, read};

/// What a server would take without a word, and what would let in who should not be, or nobody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Danger {
    /// Not what a nats-server reads, or more than this check understands, such as an `include`.
    #[error("it can't be read: {why} on line {line}")]
    Unread {
        /// What is there.
        why: &'static str,
        /// Line, from 1.
        line: usize,
    },
    /// No account has a user. A reload with it drops everybody, and a server that starts with it asks nobody
    /// for a name (measured).
    #[error("no account has a user, so a server would ask nobody for a name")]
    NoUsers,
    /// A list of users that is empty.
    #[error("the account {0} has an empty list of users")]
    EmptyUsers(String),
    /// No system account: it can't be added by a reload, and without it a file that was cut off can admit
    /// clients without a name.
    #[error("no `system_account`")]
    NoSystemAccount,
    /// Users, a password or streams outside of all accounts, in `$G`: they are lost when accounts come.
    #[error("`{0}` puts something outside of the mesh's accounts")]
    Global(&'static str),
    /// A way in for who has no name.
    #[error("`no_auth_user` lets in who has no name")]
    Anonymous,
    /// Clients can connect without TLS.
    #[error("no TLS on the client port")]
    Plain,
    /// A listener that the mesh does not have, and whose rules nothing checks.
    #[error("`{0}` opens another way in")]
    Listener(String),
    /// Accounts or users that are kept somewhere else, where nothing checks them.
    #[error("`{0}` takes accounts from elsewhere")]
    Elsewhere(String),
    /// Monitoring that others than this machine reach.
    #[error("monitoring is not on loopback")]
    Monitoring,
    /// A side of a user's permissions that is missing or empty, which allows everything.
    #[error("a user of {account} has no list for {side}, which allows everything")]
    Unlimited {
        /// The user's account.
        account: String,
        /// `publish` or `subscribe`.
        side: &'static str,
    },
    /// A password that is not a hash.
    #[error("a user of {0} has a password that is no bcrypt hash")]
    Password(String),
}

/// Keys that open another port, or another protocol.
const LISTENERS: [&str; 9] = [
    "mqtt",
    "websocket",
    "leafnodes",
    "leaf",
    "gateway",
    "cluster",
    "https",
    "https_port",
    "profile_port",
];

/// Keys of servers whose accounts are signed tokens, or are asked for.
const ELSEWHERE: [&str; 9] = [
    "operator",
    "operators",
    "root",
    "roots",
    "resolver",
    "resolver_preload",
    "trusted",
    "trusted_keys",
    "default_sentinel",
];

impl Danger {
    /// Looks at a whole file of a mesh's server, as it is written.
    ///
    /// # Errors
    /// The first danger in it.
    ///
    /// ```
    /// use mesh_control::compose::Danger;
    ///
    /// let text = "system_account: SYS\naccounts { SYS {}, BUS { users: [] } }\ntls { cert_file: a, key_file: b }";
    /// assert_eq!(Danger::check(text), Err(Danger::EmptyUsers("BUS".to_owned())));
    /// ```
    pub fn check(text: &str) -> Result<(), Self> {
        let file = read(text)?;
        for key in LISTENERS {
            if file.get(key).is_some() {
                return Err(Self::Listener(key.to_owned()));
            }
        }
        for key in ELSEWHERE {
            if file.get(key).is_some() {
                return Err(Self::Elsewhere(key.to_owned()));
            }
        }
        if file.get("no_auth_user").is_some() {
            return Err(Self::Anonymous);
        }
        for key in ["users", "user", "nkeys"] {
            if file.get(key).is_some() {
                return Err(Self::Global("users"));
            }
        }
        let bare = |name| file.get("authorization").is_some_and(|block| block.get(name).is_some());
        for name in
            ["users", "user", "username", "password", "pass", "token", "nkey", "auth_callout"]
        {
            if bare(name) {
                return Err(Self::Global("authorization"));
            }
        }
        if file.get("tls").is_none_or(|tls| tls.get("cert_file").is_none()) {
            return Err(Self::Plain);
        }
        if file.get("allow_non_tls").is_some_and(|value| value.text() != Some("false")) {
            return Err(Self::Plain);
        }
        monitoring(&file)?;
        let system = file.get("system_account").and_then(Value::text);
        let system = system.ok_or(Self::NoSystemAccount)?;
        let accounts = file.get("accounts").and_then(Value::entries).unwrap_or_default();
        let mut users = 0;
        for (name, account) in accounts {
            users += self::users(name, account, name == system)?;
        }
        if users == 0 { Err(Self::NoUsers) } else { Ok(()) }
    }
}

/// Plain HTTP is for this machine alone.
fn monitoring(file: &Value) -> Result<(), Danger> {
    let on_loopback = |address: &str| {
        let host = address.rsplit_once(':').map_or("", |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    let refused = ["http", "monitor_port", "http_port"]
        .iter()
        .any(|key| file.get(key).is_some_and(|value| !value.text().is_some_and(on_loopback)));
    if refused { Err(Danger::Monitoring) } else { Ok(()) }
}

/// How many users the account has.
fn users(name: &str, account: &Value, system: bool) -> Result<usize, Danger> {
    let Some(users) = account.get("users").or_else(|| account.get("nkeys")) else {
        return Ok(0);
    };
    let users = users.items().unwrap_or_default();
    if users.is_empty() {
        return Err(Danger::EmptyUsers(name.to_owned()));
    }
    for user in users {
        let password = user.get("password").or_else(|| user.get("pass")).and_then(Value::text);
        if password.is_some_and(|password| super::Verifier::bcrypt(password).is_err()) {
            return Err(Danger::Password(name.to_owned()));
        }
        // Who is the server's own may do what the server lets such do.
        if system {
            continue;
        }
        let permissions = user.get("permissions").or_else(|| user.get("permission"));
        for side in ["publish", "subscribe"] {
            let rules = permissions.and_then(|permissions| permissions.get(side));
            if !rules.is_some_and(limits) {
                return Err(Danger::Unlimited { account: name.to_owned(), side });
            }
        }
    }
    Ok(users.len())
}

/// Whether these rules forbid anything: some are allowed, or everything is denied.
fn limits(rules: &Value) -> bool {
    let some = |list: &Value| list.text().is_some() || list.items().is_some_and(|l| !l.is_empty());
    let all = |list: &Value| {
        let whole = |value: &Value| value.text() == Some(">");
        whole(list) || list.items().is_some_and(|items| items.iter().any(whole))
    };
    match rules.entries() {
        None => some(rules),
        Some(_) => rules.get("allow").is_some_and(some) || rules.get("deny").is_some_and(all),
    }
}
