//! `mesh perm diff`.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use mesh_control::perm::{Diff, How, Presence, Setting, Step, UserDiff};
use mesh_core::permissions::Responses;
use mesh_core::text::Printable;
use serde::Serialize;

use super::files::Read;
use super::shown::Right;
use crate::shell::style::{ERROR, FAINT, GOOD, STRONG};
use crate::shell::{Answer, Exit, Failure, Shell};

const AFTER_HELP: &str = "\
Exit codes:
  0  nobody may do more than before
  1  something widens
  2  one of them can't be read";

/// Say what a change of a mesh's files gives and takes.
///
/// What a right stands for counts, not how it is written. It widens where somebody may publish to a subject, hear
/// one, hear one alone instead of in a queue group, or answer more than before; where a limit is raised, and where
/// accounts are no longer apart. A user that is new widens, one that is gone does not.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Compare {
    /// The mesh file as it was, or its folder.
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The mesh file as it is, or its folder.
    #[arg(value_name = "NEW")]
    new: PathBuf,
}

pub(super) fn run(asked: &Compare, shell: &mut Shell) -> Result<Exit, Failure> {
    let (old, new) = (Read::of(&asked.old)?, Read::of(&asked.new)?);
    let report = Report::new(&Diff::of(&old.mesh, &new.mesh), &old, &new);
    shell.answer(&report)?;
    Ok(if report.widens { Exit::Fault } else { Exit::Good })
}

#[derive(Debug, Serialize)]
struct Report {
    widens: bool,
    settings: Vec<Changed>,
    users: Vec<Somebody>,
    /// Modules without an account in the old files, and why.
    left_out_before: Vec<String>,
    /// And in the new ones.
    left_out: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Changed {
    field: &'static str,
    old: String,
    new: String,
    widens: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Somebody {
    user: String,
    /// `added`, `removed` or `changed`.
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    widens: bool,
    granted: Vec<Given>,
    taken: Vec<Given>,
    /// What it may answer by having been asked, where that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<String>,
}

#[derive(Debug, Serialize)]
struct Given {
    #[serde(flatten)]
    right: Right,
    /// Whether there is anything that it changes.
    changes: bool,
    /// A subject that it changes something for.
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<String>,
    /// In which queue group, where not in all and in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// What is delivered there or no longer, where the right itself stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered: Option<String>,
}

impl Report {
    fn new(diff: &Diff<'_>, old: &Read, new: &Read) -> Self {
        Self {
            widens: diff.widens(),
            settings: diff.settings.iter().map(Changed::of).collect(),
            users: diff.users.iter().map(Somebody::of).collect(),
            left_out_before: old.left_out(),
            left_out: new.left_out(),
        }
    }
}

impl Changed {
    fn of(setting: &Setting) -> Self {
        let Setting { field, old, new, widens, meaning, .. } = setting.clone();
        Self { field, old, new, widens, meaning }
    }
}

impl Somebody {
    fn of(user: &UserDiff<'_>) -> Self {
        Self {
            user: user.name.to_owned(),
            change: match user.presence {
                Presence::Added => "added",
                Presence::Removed => "removed",
                Presence::Changed => "changed",
            },
            line: user.line.map(ToString::to_string),
            widens: user.widens(),
            granted: user.granted.iter().map(Given::of).collect(),
            taken: user.taken.iter().map(Given::of).collect(),
            answers: user
                .responses
                .map(|(old, new)| format!("from {} to {}", budget(old), budget(new))),
        }
    }
}

fn budget(responses: Option<Responses>) -> String {
    match responses {
        None => "none".to_owned(),
        Some(Responses { max, expires }) => {
            format!("{max} to each message, within {} s", expires.as_secs_f32())
        }
    }
}

impl Given {
    fn of(step: &Step<'_>) -> Self {
        let effect = step.effect.as_ref();
        Self {
            right: Right::of(step.grant),
            changes: effect.is_some(),
            example: effect.and_then(|gain| gain.example.as_ref()).map(ToString::to_string),
            group: effect.and_then(|gain| match &gain.how {
                How::Plain => None,
                How::Group(group) => Some(format!("in queue group {group}")),
                How::OtherGroups => Some("in queue groups of other names".to_owned()),
            }),
            delivered: step.delivered().map(ToString::to_string),
        }
    }

    /// Below a right, what it does: `what` is the sign and the word for it.
    fn show(&self, f: &mut fmt::Formatter<'_>, (sign, what): (char, &str)) -> fmt::Result {
        writeln!(f, "    {sign} {}", Printable(&self.right.why()))?;
        let group = self.group.as_ref().map_or_else(String::new, |group| format!(" {group}"));
        let right = match &self.delivered {
            None => self.right.what(),
            Some(delivered) => delivered.clone(),
        };
        let effect = match (&self.example, self.changes) {
            (Some(example), _) if *example == right => format!("{what} {example}{group}"),
            (Some(example), _) => format!("{what} {right}, such as {example}{group}"),
            (None, true) => format!("{what} {right}: too much to decide, so it counts"),
            (None, false) => format!("{right}: no difference, another right is for the same"),
        };
        writeln!(f, "      {FAINT}{}{FAINT:#}", Printable(&effect))
    }
}

impl Answer for Report {
    const SCHEMA: &'static str = "mesh.perm.diff/1";
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Changed { field, old, new, widens, meaning } in &self.settings {
            let style = if *widens { ERROR } else { STRONG };
            writeln!(f, "{style}bus.{field}{style:#}: from {old} to {new}")?;
            if let Some(meaning) = meaning {
                writeln!(f, "    {FAINT}{meaning}{FAINT:#}")?;
            }
        }
        for somebody in &self.users {
            somebody.fmt(f)?;
        }
        for (when, all) in [("old", &self.left_out_before), ("new", &self.left_out)] {
            for line in all {
                writeln!(f, "{FAINT}left out of the {when} ones{FAINT:#}: {}", Printable(line))?;
            }
        }
        let nothing = self.users.is_empty() && self.settings.is_empty();
        match (self.widens, nothing) {
            (true, _) => writeln!(f, "{ERROR}widens{ERROR:#}: somebody may do more than before"),
            (false, true) => {
                writeln!(f, "{GOOD}the same{GOOD:#}: everybody may do what they could")
            }
            (false, false) => {
                writeln!(f, "{GOOD}not wider{GOOD:#}: nobody may do more than before")
            }
        }
    }
}

impl fmt::Display for Somebody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = if self.widens { ERROR } else { STRONG };
        let sign = match self.change {
            "added" => '+',
            "removed" => '-',
            _ => '~',
        };
        write!(f, "{style}{sign} {}{style:#}", self.user)?;
        match (&self.line, self.change) {
            (Some(line), "added" | "removed") => {
                writeln!(f, " {FAINT}{}: {}{FAINT:#}", self.change, Printable(line))?;
            }
            _ => writeln!(f)?,
        }
        for given in &self.granted {
            given.show(f, ('+', "now"))?;
        }
        for given in &self.taken {
            given.show(f, ('-', "no longer"))?;
        }
        if let Some(answers) = &self.answers {
            writeln!(f, "    answers by having been asked: {answers}")?;
        }
        Ok(())
    }
}
