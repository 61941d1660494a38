//! Every attack of protocol §4, tried by the attacker's own user in both layouts: what must come of it
//! is refused by the server, refused by the runtime's rules, or shown to succeed where it does.
#![expect(unreachable_pub, reason = "a test")]

mod attack;
mod calls;
mod deliveries;
mod doors;
mod grants;
mod limits;
mod poison;
mod relays;
#[path = "../support/split/mod.rs"]
#[allow(dead_code, unused_imports, reason = "another binary uses the rest")]
mod split;
mod steps;
mod table;
mod verbs;
mod victim;

use std::process::ExitCode;

use attack::Attack;
use libtest_mimic::{Arguments, Failed, Trial};
use split::{Isolation, Started};

/// Each attack, in the order of the table.
fn attacks() -> Vec<Attack> {
    [
        doors::ATTACKS,
        grants::ATTACKS,
        relays::ATTACKS,
        verbs::ATTACKS,
        calls::ATTACKS,
        deliveries::ATTACKS,
        limits::ATTACKS,
        poison::ATTACKS,
    ]
    .concat()
}

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for attack in attacks() {
        for (layout, isolation) in
            [("split", Isolation::Split), ("one_account", Isolation::OneAccount)]
        {
            let name = format!("{layout}::{}", attack.name);
            trials.push(Trial::test(name, move || carry_out(attack, isolation)));
        }
    }
    trials.push(Trial::test("the_documentations_table_is_that_of_the_attacks", || {
        table::is_current(&attacks()).map_err(|error| Failed::from(error.to_string()))
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn carry_out(attack: Attack, isolation: Isolation) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome: Started<_> = runtime.block_on((attack.run)(isolation));
    let outcome = outcome.map_err(|error| Failed::from(error.to_string()))?;
    let expected = attack.expected(isolation);
    if outcome == expected {
        return Ok(());
    }
    Err(format!("{} {}: expected {expected:?}, found {outcome:?}", attack.by, attack.tries).into())
}
