use std::fmt;
use std::str::FromStr;

use smallvec::{SmallVec, smallvec};

use crate::binding::BindingPattern;
use crate::name::{EventName, ModuleName, NameError};
use crate::subject::{Filter, MAX_SUBJECT_BYTES, Subject, SubjectError, normalise};

/// A set of events, relative to `mesh.events.`: `<module>.<event>` where `*` stands for one whole
/// token and a last `>` for one or more.
///
/// An event has a module and at least one more token, so a pattern never reaches anything but
/// events: `>` means `*.>`. AMQP's `#` is read where it is last, and means what
/// [`BindingPattern::to_filters`] says of events: `a.b.#` is `a.b` and `a.b.>`, `a.#` and `a.*.#` are
/// `a.>`, and `#` is `*.>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventPattern {
    text: String,
    filters: SmallVec<[Filter; 2]>,
}

/// Why a text is not a pattern of events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// Not a filter.
    #[error("{0}")]
    Filter(#[from] SubjectError),
    /// Its subject would be too long.
    #[error("{found} bytes long, at most {} are allowed", EventPattern::MAX_BYTES)]
    TooLong {
        /// The bytes found.
        found: usize,
    },
    /// A `#` that is not the last token: its translation would not be exact. `a.#.b` covers both
    /// `a.b` and `a.x.y.b`, which no set of NATS filters does.
    #[error("`#` at offset {offset} is not last")]
    HashNotLast {
        /// Byte offset of the `#`.
        offset: usize,
    },
    /// One token, which no event has.
    #[error("matches no event")]
    OneToken,
    /// A token that is neither a wildcard nor part of a module's or an event's name.
    #[error("{error}, in the token at offset {offset}")]
    Token {
        /// Byte offset of the token.
        offset: usize,
        /// What is wrong within the token.
        error: NameError,
    },
}

impl EventPattern {
    const PREFIX: &str = "mesh.events.";

    /// The most bytes of a pattern: its subject has the prefix `mesh.events.` too.
    pub const MAX_BYTES: usize = MAX_SUBJECT_BYTES - Self::PREFIX.len();

    /// Checks `text`.
    ///
    /// # Errors
    /// [`PatternError`], with the byte offset.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        if text.len() > Self::MAX_BYTES {
            return Err(PatternError::TooLong { found: text.len() });
        }
        let filter = Filter::new(text)?;
        let last = filter.tokens().count() - 1;
        let mut offset = 0;
        for (index, token) in filter.tokens().enumerate() {
            let checked = match token {
                "#" if index == last => Ok(()),
                // Before stars it would be exact, and is refused all the same (protocol §1).
                "#" => return Err(PatternError::HashNotLast { offset }),
                "*" | ">" => Ok(()),
                _ if index == 0 => ModuleName::new(token).map(drop),
                _ => EventName::new(token).map(drop),
            };
            checked.map_err(|error| PatternError::Token { offset, error })?;
            offset += token.len() + 1;
        }
        let filters = if text.ends_with('#') {
            let pattern = BindingPattern::new(text)?;
            let translated = pattern
                .to_filters()
                .map_err(|refused| PatternError::HashNotLast { offset: refused.offset })?;
            translated.into_iter().filter_map(Self::of_events).collect()
        } else {
            Self::of_events(filter).map_or_else(SmallVec::new, |filter| smallvec![filter])
        };
        if filters.is_empty() {
            return Err(PatternError::OneToken);
        }
        let text = text.to_owned();
        Ok(Self { text, filters })
    }

    /// `filter` as far as it reaches events, which have two tokens or more.
    fn of_events(filter: Filter) -> Option<Filter> {
        match filter.as_str() {
            ">" => Some(Filter::from_checked("*.>".into())),
            _ if filter.tokens().count() == 1 => None,
            _ => Some(filter),
        }
    }

    /// The pattern of exactly one event.
    #[must_use]
    pub fn of_event(module: &ModuleName, event: &EventName) -> Option<Self> {
        Self::new(&format!("{module}.{event}")).ok()
    }

    /// The text as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The filters it stands for, one or two, relative to `mesh.events.`; each has two tokens or
    /// more.
    #[must_use]
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// Whether this event is in the set.
    #[must_use]
    pub fn matches(&self, module: &ModuleName, event: &EventName) -> bool {
        Subject::new(format!("{module}.{event}"))
            .is_ok_and(|subject| self.filters.iter().any(|filter| filter.matches(&subject)))
    }

    /// Whether each event of this set is in one of `declared`.
    #[must_use]
    pub fn is_covered_by(&self, declared: &[Self]) -> bool {
        self.filters.iter().all(|mine| {
            let mut filters = declared.iter().flat_map(|pattern| &pattern.filters);
            filters.any(|filter| filter.contains(mine))
        })
    }

    /// The filters of all `patterns` without those inside another, which a server refuses beside it.
    #[must_use]
    pub fn minimal_filters(patterns: &[Self]) -> Vec<Filter> {
        normalise(patterns.iter().flat_map(|pattern| pattern.filters.iter().cloned()))
    }
}

impl FromStr for EventPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        Self::new(text)
    }
}

impl fmt::Display for EventPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}
