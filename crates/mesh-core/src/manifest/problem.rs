use std::fmt::{self, Write as _};
use std::ops::Deref;
use std::sync::Arc;

use super::{EventPattern, PatternError, SchemaError, ToolRef, ToolRefError};
use crate::name::{EventName, ModuleName, NameError, NodeName, ProvisionName};
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

/// What is wrong in a manifest or a mesh file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// More than [`MAX_FILE_BYTES`](super::MAX_FILE_BYTES).
    #[error("{0} bytes long, at most {max} are allowed", max = super::MAX_FILE_BYTES)]
    TooLarge(usize),
    /// Not TOML; the parser's words.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// A key that this file does not have, a key that is missing, or a value of another type.
    #[error("{0}")]
    Shape(String),
    /// Not a name.
    #[error("{} {}: {}", error.kind, quoted(found), error.problem)]
    Name {
        /// The text found.
        found: String,
        /// What is wrong with it.
        error: NameError,
    },
    /// Not a pattern of events.
    #[error("{}: {error}", quoted(found))]
    Pattern {
        /// The text found.
        found: String,
        /// What is wrong with it.
        error: PatternError,
    },
    /// Not `<module>.<tool>`.
    #[error("{}: {error}", quoted(found))]
    ToolRef {
        /// The text found.
        found: String,
        /// What is wrong with it.
        error: ToolRefError,
    },
    /// Not JSON, or not a JSON Schema that a tool can have.
    #[error("{0}")]
    Schema(#[from] SchemaError),
    /// Not a time that a tool can take.
    #[error("{} is not a duration from 1 ms to 1 h", quoted(.0))]
    Timeout(String),
    /// No text where some is wanted.
    #[error("empty")]
    Empty,
    /// The same as an earlier field.
    #[error("{} is given already by {earlier}", quoted(value))]
    Duplicate {
        /// What is given twice.
        value: String,
        /// The path of the earlier field.
        earlier: String,
    },
    /// An event whose subject, or the one on which a dead letter goes back to a consumer, would be
    /// longer than a subject can be.
    #[error("its subject would be {0} bytes long, at most {max} are allowed", max = crate::subject::MAX_SUBJECT_BYTES)]
    SubjectTooLong(usize),
    /// A tool that only the controller calls.
    #[error("only the controller calls a tool named {0}")]
    ControllersTool(String),
    /// A call of a tool of the module's own.
    #[error("{0} is the module's own tool")]
    OwnTool(ToolRef),
    /// A manifest that could not be read.
    #[error("can't read {file}: {why}")]
    Unreadable {
        /// The file, as its reader names it.
        file: String,
        /// Why, in the reader's words.
        why: String,
    },
    /// A person with both or neither of `administrator = true` and `tools`.
    #[error("either `administrator = true` or `tools` is wanted")]
    Access,
    /// An assignment to a node that the mesh doesn't have.
    #[error("no node is named {0}")]
    UnknownNode(NodeName),
    /// An assignment of a module that no manifest is called after.
    #[error("no manifest has the name {0}")]
    UnknownModule(ModuleName),
    /// A manifest of a module that the mesh file doesn't have.
    #[error("the mesh file has no module {0}")]
    UnassignedManifest(ModuleName),
    /// Two manifests of one name.
    #[error("{earlier} has the name {module} already")]
    ModuleTwice {
        /// The name.
        module: ModuleName,
        /// The file that has it already.
        earlier: Arc<str>,
    },
    /// A call or a grant of a tool that no module has.
    #[error("no module has the tool {0}")]
    UnknownTool(ToolRef),
    /// A tool that is called, of a module that runs nowhere.
    #[error("nobody serves {0}: its module is assigned to no node")]
    NobodyServes(ToolRef),
    /// A module that runs nowhere.
    #[error("{0} is assigned to no node")]
    Nowhere(ModuleName),
    /// A pattern that no module's events match.
    #[error("no module emits an event like {0}")]
    NobodyEmits(EventPattern),
    /// An event that no module's patterns match.
    #[error("no module consumes {0}")]
    NobodyConsumes(EventName),
    /// A requirement that no module meets.
    #[error("{} {provision}", provider(from.as_ref()))]
    NobodyProvides {
        /// What is required.
        provision: ProvisionName,
        /// Whose, where the requirement says so.
        from: Option<ModuleName>,
    },
    /// A requirement that several modules meet, without saying which is meant.
    #[error("several modules provide {provision}: {modules}")]
    SeveralProvide {
        /// What is required.
        provision: ProvisionName,
        /// The modules, with commas between them.
        modules: String,
    },
}

impl ProblemKind {
    /// What to do about it, where that is not plain.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Pattern { error: PatternError::OneToken, .. } => {
                "a pattern is <module>.<event>; for all events of a module write `mail.>`"
            }
            Self::Pattern { error: PatternError::HashNotLast { .. }, .. } => {
                "`#` is AMQP's; write `*` for one word or a last `>` for the rest"
            }
            Self::Timeout(_) => "write it as `30s` or `1m 30s`",
            Self::ControllersTool(_) => "`provides` and `requires` are enough",
            Self::OwnTool(_) => "leave it out: a module runs its own code without the mesh",
            Self::Unreadable { .. } => "`manifest` is a path relative to the mesh file",
            Self::Access => "give one of the two",
            Self::UnknownNode(_) => "list it under `nodes`",
            Self::UnknownModule(_) => "`module` must equal `name` in the manifest",
            Self::UnassignedManifest(_) => "add it to `assignments`; `nodes = []` runs it nowhere",
            Self::SeveralProvide { .. } => "say which with `from`",
            Self::SubjectTooLong(_) => "shorten the event's name",
            _ => return None,
        })
    }
}

/// What was found in a file, in quotes, with nothing in it that a terminal would obey.
fn quoted(found: &str) -> String {
    const MOST: usize = 72;
    match found.char_indices().nth(MOST) {
        None => format!("{found:?}"),
        Some((end, _)) => format!("{:?}…", &found[..end]),
    }
}

fn provider(from: Option<&ModuleName>) -> String {
    match from {
        None => "no module provides".to_owned(),
        Some(from) => format!("{from} doesn't provide"),
    }
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
        match self.kind.hint() {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
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
