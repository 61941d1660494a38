//! Every attack of protocol §4, tried by the attacker's own user in both layouts and with both kinds of
//! answers: it is refused by the server, comes to nothing by the runtime's rules, or is shown to succeed
//! where it does. What must come of each stands in `docs/security.md`.
//!
//! A run compares with that table; with `MESH_WRITE_TABLE` it writes it. The answer mode is varied where it
//! may matter, and everywhere with `MESH_ATTACKS=all`.
#![expect(unreachable_pub, reason = "a test")]

mod answers;
mod asks;
mod attack;
mod calls;
mod composed;
mod deliveries;
mod documents;
mod doors;
mod floods;
mod grants;
mod lent;
mod limits;
mod listening;
mod others;
mod poison;
mod relays;
mod revoked;
#[path = "../support/split/mod.rs"]
#[allow(dead_code, unused_imports, reason = "another binary uses the rest")]
mod split;
mod steps;
mod table;
mod verbs;
mod victim;

use std::collections::BTreeMap;
use std::env;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use attack::{Attack, Outcome};
use libtest_mimic::{Arguments, Failed, Trial};
use split::{Answers, Isolation, Mode, Started};
use table::Table;

/// Each attack, in the order of the table.
fn attacks() -> Vec<Attack> {
    [
        composed::ATTACKS,
        doors::ATTACKS,
        revoked::ATTACKS,
        others::ATTACKS,
        grants::ATTACKS,
        listening::ATTACKS,
        relays::ATTACKS,
        verbs::ATTACKS,
        calls::ATTACKS,
        asks::ATTACKS,
        answers::ATTACKS,
        lent::ATTACKS,
        deliveries::ATTACKS,
        floods::ATTACKS,
        limits::ATTACKS,
        poison::ATTACKS,
    ]
    .concat()
}

type Found = Arc<Mutex<BTreeMap<(&'static str, usize), Outcome>>>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let writes = env::var_os("MESH_WRITE_TABLE").is_some() && !arguments.list;
    let everything = writes || env::var("MESH_ATTACKS").is_ok_and(|wanted| wanted == "all");
    let table = match Table::read() {
        Ok(table) => Arc::new(table),
        Err(error) => return complain(&*error),
    };
    let found = Found::default();
    let mut trials = Vec::new();
    for attack in attacks() {
        for mode in Mode::ALL {
            if mode.answers == Answers::Scoped || attack.answers || everything {
                let (table, found) = (Arc::clone(&table), Arc::clone(&found));
                trials.push(Trial::test(format!("{}::{}", name(mode), attack.name), move || {
                    let outcome = carry_out(attack, mode)?;
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.insert(table::key(attack.name, mode), outcome);
                    if writes { Ok(()) } else { compare(&table, attack, mode, outcome) }
                }));
            }
        }
    }
    if !writes {
        trials.extend(documents::trials(&table, &attacks()));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    // Of a trial that failed stays what was known before.
    if writes {
        let found = found.lock().unwrap_or_else(PoisonError::into_inner);
        let written =
            server_version().and_then(|version| table.write(&attacks(), &found, &version));
        if let Err(error) = written {
            return complain(&*error);
        }
    }
    conclusion.exit_code()
}

#[expect(clippy::print_stderr, reason = "what a test has to say")]
fn complain(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("{error}");
    ExitCode::FAILURE
}

const fn name(mode: Mode) -> &'static str {
    match (mode.isolation, mode.answers) {
        (Isolation::Split, Answers::Scoped) => "split",
        (Isolation::Split, Answers::AllowResponses) => "split_allow_responses",
        (Isolation::OneAccount, Answers::Scoped) => "one_account",
        (Isolation::OneAccount, Answers::AllowResponses) => "one_account_allow_responses",
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn carry_out(attack: Attack, mode: Mode) -> Result<Outcome, Failed> {
    let outcome: Started<_> = runtime()?.block_on((attack.run)(mode));
    outcome.map_err(|error| Failed::from(error.to_string()))
}

/// A difference names the server, since some of it is the server's own doing (protocol §4).
fn compare(table: &Table, attack: Attack, mode: Mode, outcome: Outcome) -> Result<(), Failed> {
    let Attack { name, by, tries, .. } = attack;
    if table.expected(name, mode) == Some(outcome) {
        return Ok(());
    }
    let expected = table.expected(name, mode).map_or("nothing", Outcome::as_str);
    let version = server_version().unwrap_or_else(|error| error.to_string());
    Err(format!(
        "{by} {tries}: docs/security.md says {expected}, and on nats-server {version} it is {}; {}",
        outcome.as_str(),
        table::HOW
    )
    .into())
}

/// What the server that all this is tried on says of itself.
fn server_version() -> Started<String> {
    use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
    let version = async {
        let server = NatsServer::launch(NatsConfig::new()).await?;
        Started::Ok(server.varz().await?["version"].as_str().ok_or("it does not say")?.to_owned())
    };
    runtime()?.block_on(version)
}
