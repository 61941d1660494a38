//! `[bus]` as it is written.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Deserialize;

use super::super::checker::Checker;
use super::super::{MAX_TIMEOUT, ProblemKind};
use super::{Bus, ConfigText, Isolation, Limits, ONE_ACCOUNT_SENTENCE, SecretKind, Tls};
use crate::name::InstanceName;
use crate::permissions::{Answers, Responses};
use crate::topology::Topology;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct RawBus {
    name: Option<String>,
    account_prefix: Option<String>,
    isolation: Option<String>,
    accept_one_account: Option<String>,
    answers: Option<String>,
    responses: Option<RawResponses>,
    secrets: Option<String>,
    bcrypt_cost: Option<i64>,
    listen: Option<String>,
    monitor: Option<String>,
    tls: Option<RawTls>,
    store_dir: Option<String>,
    limits: Option<RawLimits>,
    authorization_timeout: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct RawResponses {
    max: i64,
    expires: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct RawTls {
    cert: Option<String>,
    key: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct RawLimits {
    connections: Option<i64>,
    edge_connections: Option<i64>,
    subscriptions: Option<i64>,
    edge_subscriptions: Option<i64>,
    max_payload: Option<i64>,
    file_store: Option<i64>,
    memory_store: Option<i64>,
}

const MIB: i64 = 1024 * 1024;
/// As long as a tool may take.
const LONGEST_ANSWER: Duration = MAX_TIMEOUT;
const SECOND: Duration = Duration::from_secs(1);

/// What the table says, with the defaults for what it doesn't.
pub(in super::super) fn bus(checker: &mut Checker, raw: Option<RawBus>) -> Bus {
    let mut bus = Bus::default();
    let Some(raw) = raw else {
        return bus;
    };
    read(checker, "bus.name", raw.name.as_deref(), &mut bus.name, server_name);
    let prefix = raw.account_prefix.as_deref();
    read(checker, "bus.account_prefix", prefix, &mut bus.account_prefix, account_prefix);
    let (path, choices) = ("bus.isolation", ["split", "one-account"]);
    if choice(checker, path, raw.isolation.as_deref(), choices) == Some(1) {
        bus.isolation = Isolation::OneAccount;
    }
    accepted(checker, bus.isolation, raw.accept_one_account.as_deref());
    let (path, choices) = ("bus.answers", ["scoped", "allow_responses"]);
    let budgeted = choice(checker, path, raw.answers.as_deref(), choices) == Some(1);
    match (budgeted, raw.responses) {
        (true, Some(responses)) => bus.answers = answers(checker, &responses),
        (true, None) => {
            checker.error("bus.responses", ProblemKind::MissingKey("responses".to_owned()));
        }
        (false, Some(_)) => checker
            .error("bus.responses", ProblemKind::Idle { unless: "answers = \"allow_responses\"" }),
        (false, None) => {}
    }
    let (path, choices) = ("bus.secrets", ["bcrypt", "nkey"]);
    if choice(checker, path, raw.secrets.as_deref(), choices) == Some(1) {
        bus.secrets = SecretKind::NKey;
    }
    number(checker, "bus.bcrypt_cost", raw.bcrypt_cost, &mut bus.bcrypt_cost, 4..=14);
    read(checker, "bus.listen", raw.listen.as_deref(), &mut bus.listen, address);
    read(checker, "bus.monitor", raw.monitor.as_deref(), &mut bus.monitor, loopback);
    if bus.listen.port() == bus.monitor.port() {
        checker.error("bus.monitor", ProblemKind::SamePort(bus.monitor.port()));
    }
    if let Some(tls) = raw.tls {
        let Tls { cert, key } = &mut bus.tls;
        read(checker, "bus.tls.cert", tls.cert.as_deref(), cert, ConfigText::read);
        read(checker, "bus.tls.key", tls.key.as_deref(), key, ConfigText::read);
    }
    read(checker, "bus.store_dir", raw.store_dir.as_deref(), &mut bus.store_dir, ConfigText::read);
    if let Some(raw) = raw.limits {
        limits(checker, &raw, &mut bus.limits);
    }
    let timeout = |text: &str| span(text, SECOND, 120 * SECOND);
    let (path, text) = ("bus.authorization_timeout", raw.authorization_timeout.as_deref());
    read(checker, path, text, &mut bus.authorization_timeout, timeout);
    bus
}

/// Takes over what the text says, if it is there and right.
fn read<T>(
    checker: &mut Checker,
    path: &str,
    text: Option<&str>,
    into: &mut T,
    from: impl FnOnce(&str) -> Result<T, ProblemKind>,
) {
    if let Some(value) = text.and_then(|text| checker.ok(path, from(text))) {
        *into = value;
    }
}

fn number<T: TryFrom<i64>>(
    checker: &mut Checker,
    path: &str,
    found: Option<i64>,
    into: &mut T,
    range: RangeInclusive<i64>,
) {
    let Some(found) = found else {
        return;
    };
    match T::try_from(found) {
        Ok(value) if range.contains(&found) => *into = value,
        _ => {
            let (least, most) = range.into_inner();
            checker.error(path, ProblemKind::Number { found, least, most });
        }
    }
}

/// Which of them the text is.
fn choice(
    checker: &mut Checker,
    path: &str,
    text: Option<&str>,
    choices: [&'static str; 2],
) -> Option<usize> {
    let text = text?;
    let found = choices.iter().position(|choice| *choice == text);
    if found.is_none() {
        let found = text.to_owned();
        checker.error(path, ProblemKind::Choice { found, choices: choices.to_vec() });
    }
    found
}

/// One account is dangerous, and whoever takes it says that they know why.
fn accepted(checker: &mut Checker, isolation: Isolation, sentence: Option<&str>) {
    let path = "bus.accept_one_account";
    match (isolation, sentence) {
        (Isolation::Split, None) | (Isolation::OneAccount, Some(ONE_ACCOUNT_SENTENCE)) => {}
        (Isolation::Split, Some(_)) => {
            checker.error(path, ProblemKind::Idle { unless: "isolation = \"one-account\"" });
        }
        (Isolation::OneAccount, None) => {
            checker.error("bus.isolation", ProblemKind::OneAccount);
        }
        (Isolation::OneAccount, Some(_)) => checker.error(path, ProblemKind::OneAccount),
    }
}

fn answers(checker: &mut Checker, raw: &RawResponses) -> Answers {
    let mut responses = Responses { max: 1, expires: LONGEST_ANSWER };
    number(checker, "bus.responses.max", Some(raw.max), &mut responses.max, 1..=1000);
    let expires = |text: &str| span(text, SECOND, LONGEST_ANSWER);
    let text = Some(raw.expires.as_str());
    read(checker, "bus.responses.expires", text, &mut responses.expires, expires);
    Answers::AllowResponses(responses)
}

fn limits(checker: &mut Checker, raw: &RawLimits, limits: &mut Limits) {
    const MOST: i64 = u32::MAX as i64;
    let at = |key: &str| format!("bus.limits.{key}");
    // What is stored at once must fit: the server reserves what each stream may take.
    let topology = Topology::new();
    let wanted = topology.streams().iter().map(|stream| stream.max_bytes).sum::<u64>();
    let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
    number(checker, &at("connections"), raw.connections, &mut limits.connections, 2..=MOST);
    let most = i64::from(limits.connections) - 1;
    // The default is for the server's default.
    limits.edge_connections = limits.edge_connections.min(limits.connections - 1);
    let edge = &mut limits.edge_connections;
    number(checker, &at("edge_connections"), raw.edge_connections, edge, 1..=most);
    number(checker, &at("subscriptions"), raw.subscriptions, &mut limits.subscriptions, 2..=MOST);
    let most = i64::from(limits.subscriptions) - 1;
    limits.edge_subscriptions = limits.edge_subscriptions.min(limits.subscriptions - 1);
    let edge = &mut limits.edge_subscriptions;
    number(checker, &at("edge_subscriptions"), raw.edge_subscriptions, edge, 1..=most);
    let payload = &mut limits.max_payload;
    number(checker, &at("max_payload"), raw.max_payload, payload, MIB..=64 * MIB);
    let store = &mut limits.file_store;
    number(checker, &at("file_store"), raw.file_store, store, wanted..=i64::MAX);
    let store = &mut limits.memory_store;
    number(checker, &at("memory_store"), raw.memory_store, store, 0..=i64::MAX);
}

fn server_name(text: &str) -> Result<ConfigText, ProblemKind> {
    match InstanceName::new(text) {
        Ok(_) => ConfigText::read(text),
        Err(error) => Err(ProblemKind::Name { found: text.to_owned(), error }),
    }
}

fn account_prefix(text: &str) -> Result<ConfigText, ProblemKind> {
    let begins = text.starts_with(|c: char| c.is_ascii_uppercase());
    let fits = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if !begins || text.len() > 32 || !text.chars().all(fits) {
        return Err(ProblemKind::AccountPrefix(text.to_owned()));
    }
    ConfigText::read(text)
}

fn address(text: &str) -> Result<SocketAddr, ProblemKind> {
    let read = text.parse().ok().filter(|address: &SocketAddr| address.port() != 0);
    read.ok_or_else(|| ProblemKind::Address(text.to_owned()))
}

fn loopback(text: &str) -> Result<SocketAddr, ProblemKind> {
    let address = address(text)?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(ProblemKind::NotLoopback(text.to_owned()))
    }
}

fn span(text: &str, least: Duration, most: Duration) -> Result<Duration, ProblemKind> {
    let read = super::super::tool::duration(text).filter(|read| (least..=most).contains(read));
    read.ok_or_else(|| ProblemKind::Span { found: text.to_owned(), least, most })
}
