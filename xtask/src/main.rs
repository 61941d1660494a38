//! Tasks of this workspace: `cargo xtask <verb>`. Without a verb it lists them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a task prints is its result")]

mod checks;
mod run;
mod test;

use std::process::ExitCode;

use run::{Failure, Workspace};

type Task = fn(&Workspace, &[String]) -> Result<(), Failure>;

/// Every verb, with what it is for.
const VERBS: &[(&str, &str, Task)] = &[
    (
        "test",
        "set up what the tests need, then run them all: suites, documentation, examples",
        test::run,
    ),
    ("examples", "run each example and compare what it prints", test::examples::run),
    (
        "oldest",
        "try what rests on the server's own doing on the oldest nats-server that serves a mesh",
        test::oldest::run,
    ),
    ("fmt", "check the formatting (cargo fmt --all mends it)", checks::cargo::fmt),
    ("clippy", "lint every target, warnings denied", checks::cargo::clippy),
    ("docs", "build the documentation, warnings denied", checks::cargo::docs),
    ("deny", "check bans, licences and sources of every dependency", checks::cargo::deny),
    ("lines", "find source files of more than 400 lines", checks::lines::run),
    (
        "purity",
        "check that mesh-core is pure and that crates depend inwards only",
        checks::purity::run,
    ),
    ("features", "lint mesh-sdk with none and with each of its features", checks::features::run),
    ("metadata", "check that each crate can be published", checks::publishing::run),
    ("bench", "run the benchmarks: all, or those named", checks::cargo::bench),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(verb) = arguments.next() else {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    };
    let Some((_, _, task)) = VERBS.iter().find(|(name, _, _)| *name == verb) else {
        eprint!("xtask: no verb {verb:?}\n{}", usage());
        return ExitCode::from(2);
    };
    let rest: Vec<String> = arguments.collect();
    match Workspace::find().and_then(|workspace| task(&workspace, &rest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask {verb}: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask <verb>\n");
    for (name, purpose, _) in VERBS {
        text.push_str(&format!("  {name:<10}{purpose}\n"));
    }
    text
}
