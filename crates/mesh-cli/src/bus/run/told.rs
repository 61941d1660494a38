//! What is said while a server runs.

use std::fmt;
use std::time::Duration;

use mesh_control::folder::{Outcome, ReloadReport};
use mesh_control::supervisor::{Ended, Event};
use mesh_core::text::Printable;
use serde::Serialize;

use crate::shell::Answer;
use crate::shell::style::{ERROR, FAINT, GOOD, WARNING};

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Running {
    /// What became of the composed file; the report is that of `reload.json`.
    Report { report: Box<ReloadReport>, took_ms: u64 },
    /// `reload.json` could not be written.
    Untold { error: String },
    /// The server takes no new clients.
    Lameduck,
    /// Nothing was started: the composed file is bad.
    Refused { error: String },
    /// The server has ended.
    Ended { how: String, asked: bool, killed: bool },
    /// Something that this program does not know.
    Other,
}

impl Running {
    pub(super) fn of(event: Event) -> Self {
        match event {
            Event::Report { report, took } => Self::Report { report, took_ms: millis(took) },
            Event::Untold(error) => Self::Untold { error: error.to_string() },
            Event::LameDuck => Self::Lameduck,
            _ => Self::Other,
        }
    }

    pub(super) fn ended(ended: &Ended) -> Self {
        let Ended { how, asked, killed, .. } = *ended;
        Self::Ended { how: how.to_string(), asked, killed }
    }
}

impl Answer for Running {
    const SCHEMA: &'static str = "mesh.bus.run/1";
}

impl fmt::Display for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Report { report, took_ms } => self::report(report, *took_ms, f),
            Self::Untold { error } => {
                writeln!(f, "{WARNING}untold{WARNING:#}: {}", Printable(error))
            }
            Self::Lameduck => writeln!(f, "the server takes no new clients"),
            Self::Refused { error } => {
                writeln!(f, "{ERROR}refused{ERROR:#}: no server was started")?;
                indented(error, f)
            }
            Self::Ended { how, asked, killed } => {
                let asked = if *asked { "" } else { " by itself" };
                let killed = if *killed { ": it had to be killed" } else { "" };
                writeln!(f, "the server has ended{asked}, {}{killed}", Printable(how))
            }
            Self::Other => Ok(()),
        }
    }
}

fn report(report: &ReloadReport, took_ms: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let at = report.at;
    match report.outcome {
        Outcome::Ended => return Ok(()),
        Outcome::Live => {
            write!(f, "{FAINT}{at}{FAINT:#} {GOOD}live{GOOD:#}")?;
            if let Some(digest) = report.digest {
                write!(f, ": {digest}")?;
            }
            if let Some((pid, version)) = report.pid.zip(report.version.as_ref()) {
                write!(f, " in process {pid}, nats-server {}", Printable(version))?;
            }
            writeln!(f, ", after {took_ms} ms")?;
        }
        other => {
            writeln!(f, "{FAINT}{at}{FAINT:#} {ERROR}{other}{ERROR:#}: the server runs as before")?;
        }
    }
    if let Some(error) = &report.error {
        indented(error, f)?;
    }
    for warning in report.warnings.iter().filter(|_| report.outcome == Outcome::Live) {
        writeln!(f, "  {WARNING}warning{WARNING:#}: {}", Printable(warning))?;
    }
    Ok(())
}

fn indented(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    text.lines().try_for_each(|line| writeln!(f, "  {}", Printable(line)))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
