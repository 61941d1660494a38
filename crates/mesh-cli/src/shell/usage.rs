//! Arguments that were not understood.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anstream::AutoStream;
use clap::error::ErrorKind;

use super::output::{Color, Output, refuse};
use super::{Exit, Failure};

/// What the arguments seem to ask for, whether or not the rest of them can be understood.
pub(crate) fn asked(arguments: impl IntoIterator<Item = OsString>) -> Output {
    let mut asked = Output::default();
    let mut before = OsString::new();
    for argument in arguments.into_iter().take_while(|argument| argument != "--") {
        let joined = argument.to_str().and_then(|text| text.strip_prefix("--color="));
        let color = if before == "--color" { argument.to_str() } else { joined };
        match color {
            Some("always") => asked.color = Color::Always,
            Some("never") => asked.color = Color::Never,
            _ => {}
        }
        asked.json |= argument == "--json";
        before = argument;
    }
    asked
}

/// Tells what clap found, or the help and the version that were asked for.
pub(crate) fn tell(told: &clap::Error, asked: Output) -> ExitCode {
    let text = told.render();
    let failed = told.use_stderr();
    if !failed {
        let mut out = AutoStream::new(io::stdout(), asked.color.into());
        return match write!(out, "{}", text.ansi()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                refuse(&Failure::unwritten(error), asked)
            }
            _ => Exit::Good.into(),
        };
    }
    if told.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !asked.json {
        // Who asks for nothing is shown what there is.
        drop(write!(AutoStream::new(io::stderr(), asked.color.into()), "{}", text.ansi()));
        return Exit::Refused.into();
    }
    refuse(&failure(told.kind(), &text.to_string()), asked)
}

/// The same as every other failure: clap's words, its tips as hints, and where to read more.
fn failure(kind: ErrorKind, text: &str) -> Failure {
    let what = match kind {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a command is missing",
        _ => text.strip_prefix("error: ").unwrap_or(text),
    };
    let what: Vec<&str> = what.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let mut tips = text.lines().filter_map(|line| line.trim_start().strip_prefix("tip: "));
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
    let more = match usage {
        Some(usage) => format!("usage: {usage}; `--help` says what each is"),
        None => "`--help` behind the command says what there is".to_owned(),
    };
    let Some(first) = tips.next() else {
        return Failure::new(what.join(" "), more);
    };
    tips.fold(Failure::new(what.join(" "), first), Failure::or).or(more)
}
