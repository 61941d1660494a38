use std::fmt::{self, Write as _};
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::place::Places;
use super::{MAX_FILE_BYTES, ProblemKind};
use crate::text::Printable;

/// A mistake in a manifest or a mesh file, or between them.
///
/// Shown as `file:line:column: error: field: what (hint)`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Whether the mesh can be used all the same.
    pub severity: Severity,
    /// The file, as its reader named it.
    pub file: Arc<str>,
    /// The field's path in the file, such as `tools[1].timeout`; empty for the whole file.
    pub field: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Where what is wrong begins and ends in the file's text, in bytes: at `line` and `column`, and
    /// maybe some lines further down. Empty where there is nothing to point at.
    pub span: Range<usize>,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// Every mistake that was found, one or more, in the order of the files.
///
/// Shown as one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn new(problems: Vec<Problem>) -> Self {
        Self(problems)
    }

    /// These and those of another file.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }
}

impl Problem {
    /// What is wrong with the bytes of a file before anything of them is read: too many, or no text.
    /// `found` is how many the file has, of which `bytes` may be the first only.
    #[must_use]
    pub fn of_bytes(file: &str, bytes: &[u8], found: usize) -> Option<Self> {
        let (offset, kind) = if found > MAX_FILE_BYTES {
            (0, ProblemKind::TooLarge(found))
        } else {
            let offset = std::str::from_utf8(bytes).err()?.valid_up_to();
            (offset, ProblemKind::NotUtf8 { offset })
        };
        let (line, column) = Places::of(&String::from_utf8_lossy(&bytes[..offset])).at(offset);
        let (severity, field, span) = (Severity::Error, String::new(), offset..offset);
        Some(Self { severity, file: file.into(), field, line, column, span, kind })
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl Deref for Problems {
    type Target = [Problem];
    fn deref(&self) -> &[Problem] {
        &self.0
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// How bad a [`Problem`] is. Exhaustive on purpose: there is no third way to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The mesh is refused.
    Error,
    /// The mesh can be used; something in it may not be meant.
    Warning,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let f = &mut OneLine(f);
        write!(f, "{}:{}:{}: {severity}: ", self.file, self.line, self.column)?;
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        write!(f, "{}", self.kind)?;
        write!(f, " ({})", self.kind.hint())
    }
}

/// Escapes on the way: keys and paths are the file's, and must neither begin a line of their own nor
/// steer a terminal.
struct OneLine<'f, 'g>(&'f mut fmt::Formatter<'g>);

impl fmt::Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write!(self.0, "{}", Printable(text))
    }
}

impl std::error::Error for Problem {}
