#![doc = include_str!("../README.md")]

mod bus;
mod check;
mod cli;
mod completions;
#[cfg(unix)]
mod credential;
mod demo;
mod explain;
mod federation;
mod log;
mod man;
mod mesh_files;
#[cfg(unix)]
mod operator;
mod perm;
mod runtime;
mod shell;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Command};
use shell::{Shell, usage};

fn main() -> ExitCode {
    let asked = usage::asked(std::env::args_os());
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(told) => return usage::tell(&told, asked),
    };
    let mut shell = Shell::new(cli.output);
    let done = log::init().and_then(|()| match cli.command {
        Command::Bus(asked) => bus::run(&asked, &mut shell),
        Command::Check(asked) => check::run(&asked, &mut shell),
        Command::Demo(asked) => demo::command::run(&asked, &mut shell),
        Command::Uri(asked) => explain::uri::run(&asked, &mut shell),
        Command::Envelope(asked) => explain::envelope::run(&asked, &mut shell),
        Command::Topic(asked) => explain::topic::run(&asked, &mut shell),
        Command::Federation(asked) => federation::run(&asked, &mut shell),
        #[cfg(unix)]
        Command::Operator(asked) => operator::run(&asked, &mut shell),
        #[cfg(unix)]
        Command::Credential(asked) => credential::run(&asked, &mut shell),
        Command::Perm(asked) => perm::run(&asked, &mut shell),
        Command::Completions(asked) => completions::run(&asked, &mut shell),
        Command::Man(asked) => man::run(&asked, &mut shell),
    });
    shell.end(done)
}
