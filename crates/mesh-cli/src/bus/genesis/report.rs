//! What `mesh bus genesis` answers.

use std::fmt;

use mesh_control::genesis::{Mode, Raised};
use mesh_core::text::Printable;
use serde::Serialize;

use super::super::reach::{Difference, RefusedManifest, Said, Unnamed};
use crate::shell::Answer;
use crate::shell::style::{ERROR, FAINT, GOOD, HINT, STRONG, WARNING};

/// The answer, by the keys that `docs/bus.md` lists.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Whether the bus has what the mesh needs, as it should be, and nothing was refused.
    pub(super) good: bool,
    /// `look`, `raise` or `mend`.
    mode: &'static str,
    made: Vec<String>,
    missing: Vec<String>,
    /// How many of what is asked for were there before.
    found: usize,
    drift: Vec<Difference>,
    strangers: Vec<Unnamed>,
    retired: Vec<Retired>,
    /// In milliseconds since 1970.
    epoch: Option<i64>,
    refused_manifests: Vec<RefusedManifest>,
    dangers: Vec<&'static str>,
    unseen: Vec<&'static str>,
    /// What was being done when it broke off.
    stopped: Option<&'static str>,
}

/// What became of a consumer that was to go.
#[derive(Debug, Serialize)]
pub(super) struct Retired {
    pub(super) consumer: String,
    /// What it owed, if it is gone.
    pub(super) gave_up: Option<u64>,
    /// Why it stays.
    pub(super) refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<&'static str>,
}

impl Report {
    pub(super) fn new(said: &Said, mode: Mode, raised: &Raised, retired: Vec<Retired>) -> Self {
        let names = |held: &[mesh_core::port::Held]| held.iter().map(ToString::to_string).collect();
        let refused = retired.iter().any(|retired| retired.refused.is_some());
        Self {
            good: raised.is_good() && !refused && said.refused.is_empty(),
            mode: match mode {
                Mode::Look => "look",
                Mode::Raise => "raise",
                Mode::Mend => "mend",
            },
            made: names(&raised.made),
            missing: names(&raised.missing),
            found: raised.found,
            drift: raised.drift.iter().map(Difference::from).collect(),
            // What is gone by now was told by its retirement.
            strangers: raised
                .strangers
                .iter()
                .map(Unnamed::from)
                .filter(|stranger| {
                    let gone =
                        |one: &Retired| one.gave_up.is_some() && one.consumer == stranger.object;
                    !retired.iter().any(gone)
                })
                .collect(),
            retired,
            epoch: raised.epoch.map(|epoch| epoch.as_millis()),
            refused_manifests: said.refused.clone(),
            dangers: said.dangers(),
            unseen: raised.unseen.clone(),
            stopped: raised.stopped.as_ref().map(|stopped| stopped.doing),
        }
    }
}

impl Answer for Report {
    const SCHEMA: &'static str = "mesh.bus.genesis/1";
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for danger in &self.dangers {
            writeln!(f, "{WARNING}danger{WARNING:#}: {danger}")?;
        }
        for refused in &self.refused_manifests {
            refused.fmt(f)?;
        }
        for made in &self.made {
            writeln!(f, "{GOOD}made{GOOD:#} {made}")?;
        }
        for missing in &self.missing {
            writeln!(f, "{ERROR}missing{ERROR:#} {missing}")?;
        }
        for difference in &self.drift {
            difference.fmt(f)?;
        }
        for stranger in &self.strangers {
            stranger.fmt(f)?;
        }
        for retired in &self.retired {
            retired.fmt(f)?;
        }
        for unseen in &self.unseen {
            writeln!(f, "{FAINT}not seen{FAINT:#}: {unseen}")?;
        }
        let (style, word) = if self.good { (GOOD, "good") } else { (ERROR, "not good") };
        write!(
            f,
            "{style}{word}{style:#}: {} made, {} there before, {} missing, {} different",
            self.made.len(),
            self.found,
            self.missing.len(),
            self.drift.len(),
        )?;
        match self.epoch {
            Some(epoch) => writeln!(f, "; epoch {epoch}"),
            None => writeln!(f),
        }
    }
}

impl fmt::Display for RefusedManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = self.module.as_deref().unwrap_or("a module");
        write!(f, "{ERROR}refused{ERROR:#}: the manifest of {}", Printable(whose))?;
        writeln!(f, ", which has no consumer by these files")?;
        self.problems.iter().try_for_each(|problem| writeln!(f, "  {}", Printable(problem)))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = if self.verdict == "mended" { GOOD } else { ERROR };
        let Self { object, field, expected, found, verdict, .. } = self;
        writeln!(
            f,
            "{style}{verdict}{style:#} {STRONG}{object}{STRONG:#}: {field} is {}, and should be {}",
            Printable(found),
            Printable(expected),
        )?;
        if let Some(why) = &self.why {
            writeln!(f, "  {}", Printable(why))?;
        }
        match &self.next {
            Some(next) => writeln!(f, "  {HINT}hint{HINT:#}: {}", Printable(next)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Unnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WARNING}left{WARNING:#} {}: ", Printable(&self.object))?;
        if self.manifest_is_refused {
            return writeln!(
                f,
                "its module's manifest is refused, so what it should be is not known"
            );
        }
        write!(
            f,
            "no file names this {}",
            if self.kind == "other" { "object" } else { self.kind }
        )?;
        if let Some(owed) = self.owed {
            write!(f, "; it owes {owed}")?;
        }
        match self.is_read {
            Some(true) => write!(f, ", and somebody reads it")?,
            Some(false) => write!(f, ", and nobody reads it")?,
            None => {}
        }
        match self.kind {
            "consumer" => {
                writeln!(
                    f,
                    "\n  {HINT}hint{HINT:#}: --retire {} takes it away",
                    Printable(&self.object)
                )
            }
            _ => writeln!(f),
        }
    }
}

impl fmt::Display for Retired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.consumer;
        match (&self.refused, self.gave_up) {
            (Some(why), _) => writeln!(f, "{ERROR}kept{ERROR:#} {name}: {}", Printable(why))?,
            (None, Some(0) | None) => writeln!(f, "{GOOD}retired{GOOD:#} {name}: it owed nothing")?,
            (None, Some(owed)) => {
                writeln!(
                    f,
                    "{WARNING}retired{WARNING:#} {name}: the {owed} that it owed are given up"
                )?;
            }
        }
        match self.next {
            Some(next) => writeln!(f, "  {HINT}hint{HINT:#}: {next}"),
            None => Ok(()),
        }
    }
}
