use std::fmt;

use thiserror::Error;

/// Why a file was not read: where, and what is wrong there. It holds nothing of the file but single
/// characters and keys.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub struct ConfError {
    /// The line, from 1.
    pub line: u32,
    /// The character in the line, from 1.
    pub column: u32,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

impl fmt::Display for ConfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}
