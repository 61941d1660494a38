use std::fmt;
use std::sync::Arc;

use super::text::{check, text_impls};
use super::{Subject, SubjectError};

/// A set of subjects: tokens joined by `.`, where `*` is one whole token and a last `>` one or
/// more. 1 to 255 bytes. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Filter {
    text: Arc<str>,
    wildcard: bool,
}

impl Filter {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`SubjectError`] with the problem and its byte offset.
    pub fn new(text: impl AsRef<str> + Into<Arc<str>>) -> Result<Self, SubjectError> {
        match check(text.as_ref()) {
            Ok(wildcard) => Ok(Self {
                text: text.into(),
                wildcard: wildcard.is_some(),
            }),
            Err(problem) => Err(SubjectError {
                kind: "filter",
                problem,
            }),
        }
    }

    /// For text that validated names and literals of this crate were put together to.
    pub(crate) fn from_checked(text: String) -> Self {
        debug_assert!(check(&text).is_ok(), "{text}");
        let wildcard = check(&text).is_ok_and(|wildcard| wildcard.is_some());
        Self {
            text: text.into(),
            wildcard,
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The tokens between the dots, at least one.
    pub fn tokens(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.text.split('.')
    }

    /// Whether it stands for more than one subject.
    #[must_use]
    pub fn has_wildcard(&self) -> bool {
        self.wildcard
    }

    /// The one subject that it stands for, where it has no wildcard.
    #[must_use]
    pub fn as_subject(&self) -> Option<Subject> {
        if self.wildcard {
            None
        } else {
            Subject::new(Arc::clone(&self.text)).ok()
        }
    }

    /// Whether `subject` is in the set.
    #[must_use]
    pub fn matches(&self, subject: &Subject) -> bool {
        if !self.wildcard {
            return *self.text == *subject.as_str();
        }
        let mut tokens = subject.tokens();
        for wanted in self.tokens() {
            match (wanted, tokens.next()) {
                (">", Some(_)) => return true,
                ("*", Some(_)) => {}
                (wanted, Some(found)) if wanted == found => {}
                _ => return false,
            }
        }
        tokens.next().is_none()
    }

    /// Whether every subject of `other` is in this set.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let mut others = other.tokens();
        for mine in self.tokens() {
            match (mine, others.next()) {
                (">", Some(_)) => return true,
                ("*", Some(other)) if other != ">" => {}
                (mine, Some(other)) if mine == other => {}
                _ => return false,
            }
        }
        others.next().is_none()
    }

    /// Whether some subject is in both sets.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let (mut left, mut right) = (self.tokens(), other.tokens());
        loop {
            match (left.next(), right.next()) {
                (None, None) => return true,
                (Some(">"), Some(_)) | (Some(_), Some(">")) => return true,
                (Some(l), Some(r)) if l == r || l == "*" || r == "*" => {}
                _ => return false,
            }
        }
    }
}

impl From<Subject> for Filter {
    fn from(subject: Subject) -> Self {
        Self {
            text: subject.as_str().into(),
            wildcard: false,
        }
    }
}

text_impls!(Filter);
