//! A module whose process is killed in the middle of its handlers, again and again, under load, on a real
//! nats-server and a real RabbitMQ. With what it has handled kept in a file, nothing is lost, and nothing
//! runs twice but what was in a handler at a kill, which is told so. The same check on a module that
//! remembers in memory fails.
//!
//! The module is this program once more, told so by its environment.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]
#![expect(clippy::print_stdout, reason = "what came of it is shown")]

mod amqp;
mod child;
mod ground;
mod journal;
mod nats;
mod parent;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use ground::Ground;
use parent::Plan;

fn main() -> ExitCode {
    if let Some(told) = child::Told::from_environment() {
        child::run(told);
        return ExitCode::SUCCESS;
    }
    let trials = [trials::<nats::Nats>("nats"), trials::<amqp::Amqp>("amqp")];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
}

fn trials<G: Ground>(on: &str) -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("{on}::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial("one_handler_at_a_time_is_told_of_each_kill", || {
            let plan = Plan { events: 5000, kills: 10, concurrency: 1, durable: true };
            assert_eq!(parent::run::<G>(plan), <[String; 0]>::default());
        }),
        trial("sixteen_handlers_at_a_time_are_told_of_each_kill", || {
            let plan = Plan { events: 5000, kills: 10, concurrency: 16, durable: true };
            assert_eq!(parent::run::<G>(plan), <[String; 0]>::default());
        }),
        trial("a_module_that_remembers_in_memory_is_found_out", || {
            let plan = Plan { events: 1000, kills: 3, concurrency: 16, durable: false };
            let found = parent::run::<G>(plan);
            let unsaid = found.iter().filter(|found| found.contains("without a word")).count();
            assert!(unsaid > 0, "{found:?}");
        }),
    ]
}
