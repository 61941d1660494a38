//! `mesh federation guards`.

use std::fmt;

use clap::Args;
use mesh_core::text::Printable;
use serde::Serialize;

use super::desk::Status;
use super::operator::Reach;
use super::runtime::until_interrupted;
use crate::shell::style::{ERROR, GOOD, STRONG, WARNING};
use crate::shell::{Answer, Exit, Failure, Shell};

/// Show what a gateway has counted: each guard, what those in shadow would have refused, its mailboxes.
///
/// Exits 1 where the gateway does not hear all that it should.
#[derive(Debug, Args)]
pub(super) struct Guards {
    #[command(flatten)]
    reach: Reach,
}

pub(super) fn run(asked: &Guards, shell: &mut Shell) -> Result<Exit, Failure> {
    until_interrupted(async {
        let operator = asked.reach.connect(shell).await?;
        let status: Status = operator.ask("guards", &()).await?;
        let good = status.listening;
        shell.answer(&Report(status))?;
        Ok(if good { Exit::Good } else { Exit::Fault })
    })
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Report(Status);

impl Answer for Report {
    const SCHEMA: &'static str = "mesh.federation.guards/1";
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = &self.0;
        writeln!(f, "{STRONG}{}{STRONG:#}", Printable(&status.realm))?;
        writeln!(
            f,
            "\n  {:<16} {:<9} {:>10} {:>10} {:>10}",
            "guard", "mode", "passed", "refused", "in shadow"
        )?;
        for guard in &status.guards {
            let name = Printable(&guard.guard).to_string();
            let mode = Printable(&guard.mode).to_string();
            write!(f, "  {name:<16} {mode:<9} {:>10} {:>10} ", guard.passed, guard.refused)?;
            match guard.shadow_refused {
                0 => writeln!(f, "{:>10}", 0)?,
                some => writeln!(f, "{WARNING}{some:>10}{WARNING:#}")?,
            }
            for (figure, value) in guard.figures.iter().filter(|(_, value)| **value > 0) {
                writeln!(f, "    {:<24} {value:>10}", Printable(figure).to_string())?;
            }
        }
        writeln!(f, "\n  {:<26} {:>10}", "looked at", status.checked)?;
        writeln!(f, "  {:<26} {:>10}", "no envelope", status.undecodable)?;
        for (name, value) in status.counters.iter().filter(|(_, value)| **value > 0) {
            let name = Printable(name).to_string().replace('_', " ");
            writeln!(f, "  {name:<26} {value:>10}")?;
        }
        writeln!(f, "  {:<26} {:>10}", "pending now", status.pending)?;
        writeln!(f)?;
        for ear in &status.ears {
            let (style, word) = if ear.listening { (GOOD, "heard") } else { (ERROR, "not heard") };
            let lost = match ear.lost {
                0 => String::new(),
                lost => format!(", {lost} lost"),
            };
            writeln!(
                f,
                "  {style}{word}{style:#} {} on {}: {} messages{lost}",
                Printable(&ear.topic),
                Printable(&ear.on),
                ear.heard
            )?;
        }
        let shadow: u64 = status.guards.iter().map(|guard| guard.shadow_refused).sum();
        if shadow > 0 {
            writeln!(f, "\n{WARNING}in shadow{WARNING:#}: {shadow} that went on would be refused")?;
        }
        Ok(())
    }
}
