//! What `mesh check` answers.

use std::collections::HashMap;
use std::fmt;

use mesh_core::manifest::{FileKind, Problem, Severity};
use serde::Serialize;

use super::gather::Files;
use super::judge::Verdict;
use crate::shell::snippet::{Mark, render};
use crate::shell::style::{ERROR, FAINT, GOOD};
use crate::shell::{Answer, Failure};

/// The answer, by the keys that the README lists.
#[derive(Debug, Serialize)]
pub(crate) struct Report<'f> {
    /// Whether everything was read and has no error, nor a warning that is denied.
    pub(super) good: bool,
    errors: usize,
    warnings: usize,
    files: Vec<Checked<'f>>,
    problems: Vec<Finding>,
    unread: &'f [Failure],
    skipped: &'f [String],
    notes: Vec<&'static str>,
    #[serde(skip)]
    denied: bool,
    #[serde(skip)]
    texts: HashMap<&'f str, &'f str>,
}

#[derive(Debug, Serialize)]
struct Checked<'f> {
    file: &'f str,
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct Finding {
    code: &'static str,
    severity: &'static str,
    file: String,
    line: usize,
    column: usize,
    /// Behind the last character.
    end_line: usize,
    end_column: usize,
    field: String,
    message: String,
    hint: String,
    #[serde(skip)]
    problem: Problem,
}

impl<'f> Report<'f> {
    pub(super) fn new(files: &'f Files, verdict: Verdict, deny_warnings: bool) -> Self {
        let texts: HashMap<&str, &str> =
            files.files.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect();
        let all = verdict.problems.len();
        let is_error = |problem: &&Problem| problem.severity == Severity::Error;
        let errors = verdict.problems.iter().filter(is_error).count();
        let finding = |problem: Problem| {
            let text = texts.get(&*problem.file).copied().unwrap_or_default();
            Finding::new(problem, text)
        };
        Self {
            good: errors == 0 && files.unread.is_empty() && (all == 0 || !deny_warnings),
            errors,
            warnings: all - errors,
            files: files
                .files
                .iter()
                .map(|file| Checked { file: &file.name, kind: word(file.kind) })
                .collect(),
            problems: verdict.problems.into_iter().map(finding).collect(),
            unread: &files.unread,
            skipped: &files.skipped,
            notes: verdict.notes,
            denied: deny_warnings,
            texts,
        }
    }
}

fn word(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Mesh => "mesh",
        FileKind::Module => "module",
    }
}

impl Finding {
    fn new(problem: Problem, text: &str) -> Self {
        let meant = text.get(problem.span.clone()).unwrap_or_default();
        let (end_line, end_column) = match meant.rsplit_once('\n') {
            None => (problem.line, problem.column + meant.chars().count()),
            Some((before, last)) => {
                (problem.line + 1 + before.matches('\n').count(), 1 + last.chars().count())
            }
        };
        Self {
            code: problem.kind.code(),
            severity: match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            file: problem.file.to_string(),
            line: problem.line,
            column: problem.column,
            end_line,
            end_column,
            field: problem.field.clone(),
            message: problem.kind.to_string(),
            hint: problem.kind.hint().into_owned(),
            problem,
        }
    }
}

impl Answer for Report<'_> {
    const SCHEMA: &'static str = "mesh.check/1";
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.problems {
            let problem = &finding.problem;
            let mark = Mark {
                is_error: problem.severity == Severity::Error,
                code: finding.code,
                what: &finding.message,
                file: &finding.file,
                line: finding.line,
                column: finding.column,
                text: self.texts.get(finding.file.as_str()).copied(),
                span: problem.span.clone(),
                label: &finding.field,
                hint: &finding.hint,
            };
            writeln!(f, "{}\n", render(&mark))?;
        }
        for note in &self.notes {
            writeln!(f, "{FAINT}note{FAINT:#}: {note}")?;
        }
        if !self.skipped.is_empty() {
            let others = count(self.skipped.len(), "other TOML file");
            writeln!(
                f,
                "{FAINT}note{FAINT:#}: left alone: {others}, neither mesh file nor manifest"
            )?;
        }
        let (style, word) = if self.good { (GOOD, "good") } else { (ERROR, "not good") };
        let unread = match self.unread.len() {
            0 => String::new(),
            some => format!(", {some} not read"),
        };
        writeln!(
            f,
            "{style}{word}{style:#}: {} in {}{unread}",
            [count(self.errors, "error"), self.warned()].join(", "),
            count(self.files.len(), "file"),
        )
    }
}

impl Report<'_> {
    fn warned(&self) -> String {
        let denied = if self.denied && self.warnings > 0 { " (denied)" } else { "" };
        format!("{}{denied}", count(self.warnings, "warning"))
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
