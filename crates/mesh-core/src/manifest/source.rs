//! One file: its text read, and where everything in it is.

use std::collections::HashMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, Deserializer};

use super::outline::{Outline, remove_key};
use super::place::Places;
use super::{MAX_FILE_BYTES, Problem, ProblemKind, Problems, Severity};

/// The most unknown keys that are reported: each costs a reading of the file.
const MAX_UNKNOWN_KEYS: usize = 32;

/// A file's name and the place of every field in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    file: Arc<str>,
    /// Path → (line, column).
    places: HashMap<String, (usize, usize)>,
}

impl Source {
    /// Reads a file's shape. All syntax errors are reported, else all unknown keys and the first
    /// value of a wrong type.
    pub(super) fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<(Self, T), Problems> {
        let file: Arc<str> = file.into();
        let too_large = text.len() > MAX_FILE_BYTES;
        let places = Places::of(if too_large { "" } else { text });
        let problem = |field: &str, offset, kind| {
            let (line, column) = places.at(offset);
            Problem {
                severity: Severity::Error,
                file: Arc::clone(&file),
                field: field.to_owned(),
                line,
                column,
                kind,
            }
        };
        if too_large {
            let too_large = problem("", 0, ProblemKind::TooLarge(text.len()));
            return Err(Problems::new(vec![too_large]));
        }
        let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        let (table, errors) = DeTable::parse_recoverable(text);
        let outline = Outline::of(table.get_ref());
        if !errors.is_empty() {
            // Text that is not TOML has no sure fields, only places.
            let syntax = |error: &toml::de::Error| {
                let kind = ProblemKind::Syntax(error.message().to_owned());
                problem("", start(error), kind)
            };
            let mut problems: Vec<Problem> = errors.iter().map(syntax).collect();
            problems.sort_by_key(|problem| (problem.line, problem.column));
            return Err(Problems::new(problems));
        }
        let mut problems = Vec::new();
        let mut left = table.clone();
        let read = loop {
            match T::deserialize(Deserializer::from(left.clone())) {
                Ok(read) => break read,
                Err(error) => {
                    let kind = ProblemKind::Shape(error.message().to_owned());
                    let offset = start(&error);
                    problems.push(problem(&field(&outline, &error), offset, kind));
                    // Without an unknown key the rest can be read on; each round takes one out.
                    let unknown = error.message().starts_with("unknown field");
                    let full = problems.len() == MAX_UNKNOWN_KEYS;
                    if full || !unknown || !remove_key(left.get_mut(), offset) {
                        return Err(Problems::new(problems));
                    }
                }
            }
        };
        if !problems.is_empty() {
            return Err(Problems::new(problems));
        }
        let offsets = outline.into_offsets();
        let places = offsets.map(|(path, offset)| (path, places.at(offset))).collect();
        Ok((Self { file, places }, read))
    }

    pub(super) fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// Line and column of the field at `path`, or of the nearest of its parents that the file has.
    pub(super) fn place(&self, path: &str) -> (usize, usize) {
        let mut there = path;
        loop {
            if let Some(place) = self.places.get(there) {
                break *place;
            }
            match there.rfind(['.', '[']) {
                Some(end) => there = &there[..end],
                None => break (1, 1),
            }
        }
    }

    /// A problem of the field at `path`.
    pub(super) fn problem(&self, severity: Severity, path: &str, kind: ProblemKind) -> Problem {
        let (line, column) = self.place(path);
        Problem {
            severity,
            file: Arc::clone(&self.file),
            field: path.to_owned(),
            line,
            column,
            kind,
        }
    }
}

/// The field that an error is about. One that is missing is named in the message alone, and the
/// error's place is the table that should have it.
fn field(outline: &Outline, error: &toml::de::Error) -> String {
    let span = error.span().unwrap_or_default();
    let missing = error.message().strip_prefix("missing field `");
    match missing.and_then(|rest| rest.strip_suffix('`')) {
        None => outline.path_at(span.start).to_owned(),
        Some(name) => match outline.path_of(&span) {
            "" => name.to_owned(),
            table => format!("{table}.{name}"),
        },
    }
}
