//! Collects the mistakes of one file.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use std::str::FromStr;

use serde::de::DeserializeOwned;

use super::source::Source;
use super::{PatternError, Problem, ProblemKind, Problems, Severity, ToolRefError};
use crate::name::{NameError, folded};

pub(super) struct Checker {
    source: Source,
    problems: Vec<Problem>,
    /// The fields that something else stands for, of which nothing more is told.
    misshapen: Vec<String>,
}

impl Checker {
    /// Reads a file, with the mistakes that are in its shape.
    ///
    /// # Errors
    /// The mistakes, where nothing can be read for them.
    pub(super) fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<(Self, T), Problems> {
        let (source, read, problems) = Source::read(file, text)?;
        let misshapen = problems.iter().map(|problem| problem.field.clone()).collect();
        Ok((Self { source, problems, misshapen }, read))
    }

    pub(super) fn error(&mut self, path: &str, kind: impl Into<ProblemKind>) {
        let within = |field: &String| {
            path.strip_prefix(field.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        if !self.misshapen.iter().any(within) {
            self.problems.push(self.source.problem(Severity::Error, path, kind.into()));
        }
    }

    /// The value, unless it is a mistake.
    pub(super) fn ok<T, E: Into<ProblemKind>>(
        &mut self,
        path: &str,
        result: Result<T, E>,
    ) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(kind) => {
                self.error(path, kind);
                None
            }
        }
    }

    pub(super) fn parsed<T: FromStr>(&mut self, path: &str, text: &str) -> Option<T>
    where
        T::Err: Misread,
    {
        self.ok(path, text.parse::<T>().map_err(|error| error.found(text)))
    }

    /// The items of an array of texts; those that are a mistake are left out.
    pub(super) fn all_parsed<T>(&mut self, path: &str, texts: &[String]) -> Vec<T>
    where
        T: FromStr + Eq + Hash + Display,
        T::Err: Misread,
    {
        let items = texts.iter().enumerate();
        let parsed: Vec<(String, T)> = items
            .filter_map(|(index, text)| {
                let path = format!("{path}[{index}]");
                let value = self.parsed(&path, text)?;
                Some((path, value))
            })
            .collect();
        self.no_duplicates(parsed.iter().map(|(path, value)| (path.clone(), value)));
        parsed.into_iter().map(|(_, value)| value).collect()
    }

    /// Reports each value that an earlier path has too.
    pub(super) fn no_duplicates<T: Eq + Hash + Display>(
        &mut self,
        values: impl IntoIterator<Item = (impl Display, T)>,
    ) {
        let mut first = HashMap::new();
        for (path, value) in values {
            let path = path.to_string();
            if let Some(earlier) = first.get(&value) {
                let earlier = String::clone(earlier);
                self.error(&path, ProblemKind::Duplicate { value: value.to_string(), earlier });
            } else {
                first.insert(value, path);
            }
        }
    }

    /// Reports each value that differs from an earlier path's only in capitals, `-` and `_`.
    pub(super) fn no_folds(&mut self, values: impl IntoIterator<Item = (String, String)>) {
        let mut first: HashMap<String, (String, String)> = HashMap::new();
        for (path, value) in values {
            let fold = folded(&value);
            match first.get(&fold) {
                Some((_, other)) if *other == value => {}
                Some((earlier, other)) => {
                    let (earlier, other) = (earlier.clone(), other.clone());
                    let line = self.source.place(&earlier).line;
                    self.error(&path, ProblemKind::Folds { value, other, earlier, line });
                }
                None => drop(first.insert(fold, (path, value))),
            }
        }
    }

    pub(super) fn not_empty(&mut self, path: &str, text: &str) {
        if text.trim().is_empty() {
            self.error(path, ProblemKind::Empty);
        }
    }

    /// The file's places, if it has no mistake.
    pub(super) fn finish(self) -> Result<Source, Problems> {
        if self.problems.is_empty() {
            return Ok(self.source);
        }
        let mut problems = self.problems;
        problems.sort_by_key(|problem| (problem.line, problem.column));
        Err(Problems::new(problems))
    }
}

/// Why a text of a file is not what it should be; a problem shows the text too.
pub(super) trait Misread {
    fn found(self, text: &str) -> ProblemKind;
}

impl Misread for NameError {
    fn found(self, text: &str) -> ProblemKind {
        ProblemKind::Name { found: text.to_owned(), error: self }
    }
}

impl Misread for PatternError {
    fn found(self, text: &str) -> ProblemKind {
        ProblemKind::Pattern { found: text.to_owned(), error: self }
    }
}

impl Misread for ToolRefError {
    fn found(self, text: &str) -> ProblemKind {
        ProblemKind::ToolRef { found: text.to_owned(), error: self }
    }
}
