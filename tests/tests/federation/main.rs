//! Federation between realms, each case on every ground: a backbone in the process, on a real nats-server and on
//! a real RabbitMQ, with the bus inside each realm in the process or on the same broker. Which it is, is chosen
//! at run time; the cases are written once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]
#![expect(unreachable_pub, reason = "a test")]

mod cases;
mod document;
mod ground;
mod home;
mod peer;
#[path = "../support/amqp/target.rs"]
mod target;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use ground::Ground;

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for ground in Ground::ALL {
        trials.extend(cases::all(ground).into_iter().map(|(name, case)| {
            Trial::test(format!("{}::{name}", ground.name()), move || {
                cases::run(ground, case);
                Ok(())
            })
        }));
    }
    trials.push(Trial::test("document::each_row_of_the_threat_table_is_shown_by_a_test", || {
        document::names_tests_that_exist();
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
