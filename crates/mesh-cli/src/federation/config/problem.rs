use std::ops::Range;

use serde::Serialize;

use crate::explain::Place;
use crate::shell::snippet::{Mark, render};

/// A mistake in a gateway's file, in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// Its name for programs.
    pub(super) code: &'static str,
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) message: String,
    pub(super) hint: String,
    #[serde(skip)]
    span: Range<usize>,
}

impl Problem {
    pub(super) fn new(
        text: &str,
        span: Range<usize>,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let place = Place::of(text.as_bytes(), span.start);
        Self {
            code,
            line: place.line,
            column: place.column,
            message: message.into(),
            hint: hint.into(),
            span,
        }
    }

    /// As a compiler shows it.
    pub(super) fn shown(&self, file: &str, text: &str) -> String {
        render(&Mark {
            is_error: true,
            code: self.code,
            what: &self.message,
            file,
            line: self.line,
            column: self.column,
            text: Some(text),
            span: self.span.clone(),
            label: "",
            hint: &self.hint,
        })
    }
}
