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
            Ok(wildcard) => Ok(Self { text: text.into(), wildcard: wildcard.is_some() }),
            Err(problem) => Err(SubjectError { kind: "filter", problem }),
        }
    }

    /// For text that validated names and literals of this crate were put together to.
    pub(crate) fn from_checked(text: String) -> Self {
        debug_assert!(check(&text).is_ok(), "{text}");
        let wildcard = check(&text).is_ok_and(|wildcard| wildcard.is_some());
        Self { text: text.into(), wildcard }
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
        if self.wildcard { None } else { Subject::new(Arc::clone(&self.text)).ok() }
    }

    /// Whether `subject` is in the set.
    #[must_use]
    pub fn matches(&self, subject: &Subject) -> bool {
        if self.wildcard {
            matches(self.text.as_bytes(), subject.as_str().as_bytes())
        } else {
            *self.text == *subject.as_str()
        }
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

/// [`Filter::matches`] on checked texts: compares up to where they part, which must be a wildcard,
/// then goes on behind the token that it stands for.
pub(crate) fn matches(filter: &[u8], subject: &[u8]) -> bool {
    let (mut f, mut s) = (0, 0);
    loop {
        let common = common_prefix(&filter[f..], &subject[s..]);
        (f, s) = (f + common, s + common);
        if f == filter.len() && s == subject.len() {
            return true;
        }
        // A token that begins like the wildcard: `*a` under `*`.
        if common > 0 && is_wildcard(filter, f - 1) {
            (f, s) = (f - 1, s - 1);
        }
        if !is_wildcard(filter, f) {
            return false;
        }
        if filter[f] == b'>' {
            return true;
        }
        f += 1;
        s = memchr::memchr(b'.', &subject[s..]).map_or(subject.len(), |skipped| s + skipped);
    }
}

fn is_wildcard(filter: &[u8], at: usize) -> bool {
    matches!(filter.get(at), Some(b'*' | b'>'))
        && matches!(filter.get(at + 1), None | Some(b'.'))
        && (at == 0 || filter[at - 1] == b'.')
}

/// How many bytes two texts begin with in common; eight at a time, as this is where a match in a
/// large index spends its work.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let len = one.len().min(other.len());
    let (one, other) = (&one[..len], &other[..len]);
    let differ = |at: usize| {
        let (Some(a), Some(b)) = (one[at..].first_chunk(), other[at..].first_chunk()) else {
            return None;
        };
        let bits = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        (bits != 0).then_some(at + bits.trailing_zeros() as usize / 8)
    };
    let mut at = 0;
    while at + 8 <= len {
        if let Some(found) = differ(at) {
            return found;
        }
        at += 8;
    }
    if len >= 8 {
        // The last eight bytes, some of them once more.
        return differ(len - 8).unwrap_or(len);
    }
    while at < len && one[at] == other[at] {
        at += 1;
    }
    at
}

impl From<Subject> for Filter {
    fn from(subject: Subject) -> Self {
        Self { text: subject.as_str().into(), wildcard: false }
    }
}

text_impls!(Filter);
