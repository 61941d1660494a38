use std::fmt;

use crate::subject::Subject;

/// Why a pattern of one grammar has no exact translation to the other.
///
/// ```
/// use mesh_core::binding::BindingPattern;
///
/// let refused = BindingPattern::new("a.#.b")?.to_filters().unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "binding pattern `a.#.b`: `#` at offset 2 is not last: the nearest filter, `a.>`, also takes `a.x`"
/// );
/// # Ok::<(), mesh_core::subject::SubjectError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} `{pattern}`: {problem} at offset {offset} {}: the nearest {}, `{nearest}`, also takes `{counter_example}`",
    problem.from(), problem.why(), problem.to()
)]
#[non_exhaustive]
pub struct Untranslatable {
    /// The pattern that was to be translated.
    pub pattern: String,
    /// What stands in the way.
    pub problem: TranslationProblem,
    /// Its byte offset in `pattern`.
    pub offset: usize,
    /// A pattern of the other grammar that comes close.
    pub nearest: String,
    /// A subject that `nearest` matches and `pattern` does not.
    pub counter_example: Subject,
}

/// What has no counterpart in the other grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TranslationProblem {
    /// A binding's `#` before an ordinary word: a filter's `>` is last.
    InnerHash,
    /// A binding's word `>`: ordinary there, a wildcard in a filter.
    TailWord,
    /// A filter's token `#`: ordinary there, a wildcard in a binding.
    HashToken,
}

impl TranslationProblem {
    fn from(self) -> &'static str {
        match self {
            Self::InnerHash | Self::TailWord => "binding pattern",
            Self::HashToken => "filter",
        }
    }

    fn to(self) -> &'static str {
        match self {
            Self::InnerHash | Self::TailWord => "filter",
            Self::HashToken => "binding pattern",
        }
    }

    fn why(self) -> &'static str {
        match self {
            Self::InnerHash => "is not last",
            Self::TailWord => "is an ordinary word here and a wildcard in a filter",
            Self::HashToken => "is an ordinary token here and a wildcard in a binding pattern",
        }
    }
}

/// The word, in backquotes.
impl fmt::Display for TranslationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InnerHash | Self::HashToken => "`#`",
            Self::TailWord => "`>`",
        })
    }
}
