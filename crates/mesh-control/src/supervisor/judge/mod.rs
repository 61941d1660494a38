//! What a nats-server takes without a word, and a mesh must not run with.
//!
//! `nats-server -t` says whether a file can be read. It passes files that let everybody in, that drop
//! everybody, that send secrets over an open line, or that keep a mesh's data where nobody looks.

mod doors;
#[cfg(test)]
mod tests;
mod users;

use std::fmt;
use std::net::SocketAddr;

use crate::conf::{Conf, Map, Node, Value};

/// Something that must not stand in a file, or should not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The line, from 1, where it stands; none for what is missing.
    pub line: Option<u32>,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub instead: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}; {}", self.problem, self.instead)
    }
}

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// Why a server must not get it.
    pub faults: Vec<Fault>,
    /// What is not good, and no reason to keep it from the server.
    pub warnings: Vec<Fault>,
    /// Where the server will tell of itself.
    pub monitor: Option<SocketAddr>,
}

/// Looks at all of it: each fault is named, not only the first.
///
/// ```
/// use mesh_control::conf::Conf;
/// use mesh_control::supervisor::judge;
///
/// # fn main() -> Result<(), mesh_control::conf::ConfError> {
/// // `nats-server -t` says that it is valid. A reload would drop everybody, and a server that starts with it
/// // would ask nobody for a name.
/// let conf = Conf::read("listen: \"0.0.0.0:4222\"\naccounts { MESH { users: [] } }\n")?;
/// let faults: Vec<String> = judge(&conf).faults.iter().map(ToString::to_string).collect();
/// assert!(faults.iter().any(|fault| fault.starts_with("line 2: account MESH has an empty list of users")));
/// assert!(faults.iter().any(|fault| fault.starts_with("line 1: clients connect without TLS")));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn judge(conf: &Conf) -> Judgement {
    let mut judgement = Judgement::default();
    let root = conf.root();
    doors::judge(root, &mut judgement);
    users::judge(root, &mut judgement);
    storage(root, &mut judgement);
    elsewhere(root, &mut judgement);
    judgement
}

/// Streams must be in an account that has a name: `$G` is everybody's who has none.
fn storage(root: &Map, found: &mut Judgement) {
    let Some(node) = root.field("jetstream") else { return };
    if node.value.map().is_none_or(|map| map.field("store_dir").is_none()) {
        found.fault(
            node,
            "streams are kept in the machine's folder for temporary files",
            "write jetstream { store_dir: … }",
        );
    }
    let accounts = root.field("accounts").and_then(|node| node.value.map());
    if !accounts.is_some_and(|map| map.iter().any(|(_, node)| has_streams(node))) {
        found.fault(
            node,
            "no account has JetStream, so the server gives it to $G",
            "write jetstream: enabled in the account that is to have the streams",
        );
    }
}

/// Whether this account may have streams.
pub(super) fn has_streams(account: &Node) -> bool {
    let field = account.value.map().and_then(|map| map.field("jetstream"));
    field.is_some_and(|node| match &node.value {
        Value::Flag(flag) => *flag,
        Value::Text(text) => !text.eq_ignore_ascii_case("disabled"),
        _ => true,
    })
}

/// What the supervisor could not see or hear.
fn elsewhere(root: &Map, found: &mut Judgement) {
    for key in ["operator", "operators", "trusted", "trusted_keys", "resolver", "auth_callout"] {
        if let Some(node) = root.field(key) {
            let problem = format!("with {key} the accounts stand elsewhere, and can change unseen");
            found.fault(node, problem, "write the accounts in this file");
        }
    }
    for key in ["log_file", "logfile", "syslog", "remote_syslog"] {
        if let Some(node) = root.field(key) {
            let problem = format!("with {key} nobody hears why a reload is refused");
            found.fault(node, problem, "leave it out: the supervisor passes the server's log on");
        }
    }
    if root.field("server_name").is_none() {
        found.warn(None, "the server has no name", "write server_name");
    }
    if root.field("system_account").is_none() {
        found.warn(None, "the system account has no name", "write system_account");
    }
}

impl Judgement {
    fn fault(&mut self, node: &Node, problem: impl Into<String>, instead: impl Into<String>) {
        self.faults.push(Fault {
            line: Some(node.line),
            problem: problem.into(),
            instead: instead.into(),
        });
    }

    fn missing(&mut self, problem: impl Into<String>, instead: impl Into<String>) {
        self.faults.push(Fault { line: None, problem: problem.into(), instead: instead.into() });
    }

    fn warn(
        &mut self,
        node: Option<&Node>,
        problem: impl Into<String>,
        instead: impl Into<String>,
    ) {
        let line = node.map(|node| node.line);
        self.warnings.push(Fault { line, problem: problem.into(), instead: instead.into() });
    }
}
