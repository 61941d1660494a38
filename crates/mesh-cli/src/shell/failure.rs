use std::fmt;
use std::io;

use mesh_core::text::Printable;
use serde::Serialize;

use super::output::Answer;
use super::style::{ERROR, HINT};

/// Why a command could not do what it was asked: what, where, and what to do next.
///
/// There is none without a hint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    /// What is wrong; further lines list what it is made of.
    error: String,
    /// Where it is, such as a file or `file:line:column`.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// What to do next: one or more.
    hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { error: error.into(), at: None, hints: vec![hint.into()] }
    }

    /// The same, with where it is.
    #[must_use]
    pub(crate) fn at(self, place: impl fmt::Display) -> Self {
        Self { at: Some(place.to_string()), ..self }
    }

    /// The same, with one more thing to do.
    #[must_use]
    pub(crate) fn or(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// That the output can't be written.
    #[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
    pub(crate) fn unwritten(why: io::Error) -> Self {
        let hint = "see that there is room where it goes, and that it may be written";
        Self::new(format!("can't write the output: {why}"), hint)
    }
}

impl Answer for Failure {
    const SCHEMA: &'static str = "mesh.failure/1";
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ERROR}error{ERROR:#}: ")?;
        if let Some(place) = &self.at {
            write!(f, "{}: ", Printable(place))?;
        }
        for (index, line) in self.error.lines().enumerate() {
            let newline = if index > 0 { "\n" } else { "" };
            write!(f, "{newline}{}", Printable(line))?;
        }
        for hint in &self.hints {
            write!(f, "\n{HINT}hint{HINT:#}: {}", Printable(hint))?;
        }
        writeln!(f)
    }
}
