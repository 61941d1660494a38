//! One file: its text read, and where everything in it is.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::mend::{kind_of, mend};
use super::outline::Outline;
use super::place::Places;
use super::{MAX_FILE_BYTES, Problem, ProblemKind, Problems, Severity};

/// The most mistakes of shape that are reported: each costs a reading of the file.
const MAX_MISSHAPEN: usize = 32;

/// A file's name and the place of every field in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    file: Arc<str>,
    /// Shared: a file's places outnumber all else that is kept of it, and nothing changes them.
    places: Arc<HashMap<String, Place>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
    span: Range<usize>,
}

impl Source {
    /// Reads a file's shape, and what it says as far as its shape is right. All syntax errors are
    /// reported, else all mistakes of shape, which come with what was read in spite of them.
    pub(super) fn read<T: DeserializeOwned>(
        file: &str,
        text: &str,
    ) -> Result<(Self, T, Vec<Problem>), Problems> {
        let file: Arc<str> = file.into();
        let too_large = text.len() > MAX_FILE_BYTES;
        let places = Places::of(if too_large { "" } else { text });
        let problem = |field: &str, span: Range<usize>, kind| {
            let (line, column) = places.at(span.start);
            let (severity, field) = (Severity::Error, field.to_owned());
            Problem { severity, file: Arc::clone(&file), field, line, column, span, kind }
        };
        if too_large {
            let too_large = problem("", 0..0, ProblemKind::TooLarge(text.len()));
            return Err(Problems::new(vec![too_large]));
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        let outline = Outline::of(table.get_ref());
        if !errors.is_empty() {
            // Text that is not TOML has no sure fields, only places.
            let syntax = |error: &toml::de::Error| {
                let kind = ProblemKind::Syntax(error.message().to_owned());
                problem("", error.span().unwrap_or_default(), kind)
            };
            let mut problems: Vec<Problem> = errors.iter().map(syntax).collect();
            problems.sort_by_key(|problem| (problem.line, problem.column));
            return Err(Problems::new(problems));
        }
        // Most files have nothing to mend: only the others are parsed again.
        let (read, problems) = match T::deserialize(Deserializer::from(table)) {
            Ok(read) => (read, Vec::new()),
            Err(first) => {
                let told = |kind: &ProblemKind, span: &Range<usize>| {
                    problem(&field(&outline, kind, span), span.clone(), kind.clone())
                };
                let again = DeTable::parse_recoverable(text).0;
                mended(again, first, told).map_err(|Unfinished { mut problems, span }| {
                    let mut rest = problem("", span, ProblemKind::Unfinished);
                    rest.severity = Severity::Warning;
                    problems.push(rest);
                    Problems::new(problems)
                })?
            }
        };
        let places = outline.into_spans().map(|(path, span)| {
            let (line, column) = places.at(span.start);
            (path, Place { line, column, span })
        });
        let places = Arc::new(places.collect());
        Ok((Self { file, places }, read, problems))
    }

    pub(super) fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// The place of the field at `path`, or of the nearest of its parents that the file has.
    pub(super) fn place(&self, path: &str) -> Place {
        let mut there = path;
        loop {
            if let Some(place) = self.places.get(there) {
                break place.clone();
            }
            match there.rfind(['.', '[']) {
                Some(end) => there = &there[..end],
                None => break Place { line: 1, column: 1, span: 0..0 },
            }
        }
    }

    /// A problem of the field at `path`.
    pub(super) fn problem(&self, severity: Severity, path: &str, kind: ProblemKind) -> Problem {
        let Place { line, column, span } = self.place(path);
        Problem {
            severity,
            file: Arc::clone(&self.file),
            field: path.to_owned(),
            line,
            column,
            span,
            kind,
        }
    }
}

/// What was wrong, in the file's order, and the place where the reading ended.
struct Unfinished {
    problems: Vec<Problem>,
    span: Range<usize>,
}

/// Reads on after `error`, with something else in the place of what is wrong: what is read, and all that was
/// wrong. Unfinished, where too much is, or something that nothing can stand for.
fn mended<T: DeserializeOwned>(
    mut left: Spanned<DeTable<'_>>,
    mut error: toml::de::Error,
    told: impl Fn(&ProblemKind, &Range<usize>) -> Problem,
) -> Result<(T, Vec<Problem>), Unfinished> {
    let mut problems = Vec::new();
    loop {
        let (kind, span) = (kind_of(error.message()), error.span().unwrap_or_default());
        problems.push(told(&kind, &span));
        if !mend(left.get_mut(), &kind, &span) || problems.len() == MAX_MISSHAPEN {
            problems.sort_by_key(|problem| problem.span.start);
            return Err(Unfinished { problems, span });
        }
        match T::deserialize(Deserializer::from(left.clone())) {
            Ok(read) => return Ok((read, problems)),
            Err(another) => error = another,
        }
    }
}

/// The field that a mistake of shape is in, or that is missing.
fn field(outline: &Outline, kind: &ProblemKind, span: &Range<usize>) -> String {
    let ProblemKind::MissingKey(key) = kind else {
        return outline.path_at(span.start).to_owned();
    };
    match outline.path_of(span) {
        "" => key.to_owned(),
        table => format!("{table}.{key}"),
    }
}
