//! Grants and decisions as they are shown, to people and to programs.

use std::fmt;

use mesh_control::compose::{Because, Grant};
use mesh_control::perm::{Decision, Note};
use mesh_core::permissions::{Effect, Side, Verdict};
use mesh_core::text::Printable;
use serde::Serialize;

use super::files::Read;
use crate::shell::snippet::{Shown, render_shown};
use crate::shell::style::FAINT;

/// A grant, for programs.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Right {
    /// `publish` or `subscribe`.
    pub(super) side: &'static str,
    /// `allow` or `deny`.
    pub(super) effect: &'static str,
    pub(super) filter: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<String>,
    /// What it is for.
    pub(super) words: String,
    #[serde(flatten)]
    pub(super) because: Reason,
}

/// What justifies it: somebody's line, or the protocol.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Reason {
    Line { file: String, line: usize, column: usize, field: String },
    Rule { rule: &'static str },
}

impl Right {
    pub(super) fn of(grant: &Grant) -> Self {
        Self {
            side: match grant.side {
                Side::Publish => "publish",
                Side::Subscribe => "subscribe",
            },
            effect: match grant.effect {
                Effect::Allow => "allow",
                Effect::Deny => "deny",
            },
            filter: grant.rule.filter.to_string(),
            group: grant.rule.group.as_ref().map(ToString::to_string),
            words: grant.words(),
            because: Reason::of(&grant.because),
        }
    }

    /// `mesh.tools.a.b, in queue group serve`.
    pub(super) fn what(&self) -> String {
        let never = if self.effect == "deny" { "never " } else { "" };
        match &self.group {
            None => format!("{never}{}", self.filter),
            Some(group) => format!("{never}{}, in queue group {group}", self.filter),
        }
    }

    /// What it is for, and where that is written; of the protocol's rules once.
    pub(super) fn why(&self) -> String {
        match &self.because {
            Reason::Line { file, line, column, field } => {
                format!("{} ({file}:{line}:{column}: {field})", self.words)
            }
            Reason::Rule { rule } => format!("{rule} (protocol §4)"),
        }
    }
}

impl Reason {
    fn of(because: &Because) -> Self {
        match because {
            Because::Line(line) => Self::Line {
                file: line.file.to_string(),
                line: line.line,
                column: line.column,
                field: line.field.clone(),
            },
            Because::Rule(rule) => Self::Rule { rule },
        }
    }
}

/// A decision, for programs, and for people as lines below its first.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Judged {
    pub(super) allowed: bool,
    /// `allowed`, `not-allowed`, `denied` or `reply-refused`.
    verdict: &'static str,
    why: Vec<Right>,
    notes: Vec<String>,
    #[serde(skip)]
    lines: Vec<String>,
    /// Whether the like of it is allowed, in another group or in part.
    #[serde(skip)]
    elsewhere: bool,
}

impl Judged {
    pub(super) fn of(decision: &Decision<'_>, read: &Read) -> Self {
        let why: Vec<Right> = decision.why.iter().map(|grant| Right::of(grant)).collect();
        Self {
            allowed: decision.is_allowed(),
            verdict: match decision.verdict {
                Verdict::Allowed => "allowed",
                Verdict::NotAllowed => "not-allowed",
                Verdict::Denied => "denied",
                Verdict::BrokersReply => "reply-refused",
            },
            notes: decision.notes.iter().map(Note::to_string).collect(),
            elsewhere: decision
                .notes
                .iter()
                .any(|note| matches!(note, Note::OnlyInGroups { .. } | Note::Narrower(_))),
            lines: why.iter().map(|right| marked(right, read)).collect(),
            why,
        }
    }

    /// Why not, in a few words.
    pub(super) fn reason(&self) -> &'static str {
        match self.verdict {
            "denied" => ": it is denied whatever else is allowed",
            "reply-refused" => ": the broker alone hands out such a reply address",
            // The note says where it is allowed.
            "not-allowed" if self.elsewhere => "",
            "not-allowed" => ": nothing in the files allows it",
            _ => "",
        }
    }
}

/// A right with the line that it follows from.
fn marked(right: &Right, read: &Read) -> String {
    match &right.because {
        Reason::Line { file, line, column, field } => render_shown(&Shown {
            what: &right.words,
            file,
            line: *line,
            column: *column,
            text: read.files.text(file),
            label: field,
        }),
        Reason::Rule { .. } => format!("{FAINT}note{FAINT:#}: {}", Printable(&right.why())),
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        for note in &self.notes {
            writeln!(f, "{FAINT}note{FAINT:#}: {}", Printable(note))?;
        }
        Ok(())
    }
}

/// Modules that were left out, in lines.
pub(super) fn left_out(f: &mut fmt::Formatter<'_>, all: &[String]) -> fmt::Result {
    for line in all {
        writeln!(f, "{FAINT}left out{FAINT:#}: {}", Printable(line))?;
    }
    Ok(())
}
