//! What can be typed: the program's commands, and what holds for all of them.

use clap::{Parser, Subcommand};

use crate::shell::{EXIT_CODES, Output};
use crate::{bus, check, completions, demo, explain, federation, man, perm};
#[cfg(unix)]
use crate::{credential, operator};

/// Checks a service mesh's files, raises it, and explains what travels on it.
#[derive(Debug, Parser)]
#[command(name = "mesh", version, propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Each has a file or a folder, with its arguments and what it does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Bus(bus::Bus),
    Check(check::Check),
    Demo(demo::command::Demo),
    Uri(explain::uri::Uri),
    Envelope(explain::envelope::Envelope),
    Topic(explain::topic::Topic),
    Federation(federation::Federation),
    #[cfg(unix)]
    Operator(operator::Operator),
    #[cfg(unix)]
    Credential(credential::Credential),
    Perm(perm::Perm),
    Completions(completions::Completions),
    Man(man::Man),
}
