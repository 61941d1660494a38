use std::fmt;
use std::sync::Arc;

use super::{MAX_SUBJECT_BYTES, SubjectError, SubjectProblem};

/// One address: 1 to 255 bytes of tokens joined by `.`, none of them empty, `*` or `>`, without
/// white space or control characters. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(Arc<str>);

impl Subject {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`SubjectError`] with the problem and its byte offset.
    pub fn new(text: impl AsRef<str> + Into<Arc<str>>) -> Result<Self, SubjectError> {
        let refused = |problem| Err(SubjectError { kind: "subject", problem });
        match check(text.as_ref()) {
            Ok(None) => Ok(Self(text.into())),
            Ok(Some(wildcard)) => refused(SubjectProblem::Wildcard { offset: wildcard }),
            Err(problem) => refused(problem),
        }
    }

    /// For text that validated names and literals of this crate were put together to.
    pub(crate) fn from_checked(text: String) -> Self {
        debug_assert_eq!(check(&text), Ok(None), "{text}");
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tokens between the dots, at least one.
    pub fn tokens(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.0.split('.')
    }
}

/// Checks the shape that subjects and filters share; the answer is the offset of the first
/// wildcard token, if there is one.
pub(super) fn check(text: &str) -> Result<Option<usize>, SubjectProblem> {
    let bytes = text.as_bytes();
    if is_plain(bytes) {
        return Ok(None);
    }
    let mut wildcard = None;
    check_tokens(text, |start, end| {
        if end == start + 1 && matches!(bytes[start], b'*' | b'>') {
            if bytes[start] == b'>' && end < bytes.len() {
                return Err(SubjectProblem::TailNotLast { offset: start });
            }
            wildcard = wildcard.or(Some(start));
        }
        Ok(())
    })?;
    Ok(wildcard)
}

/// Whether it is printable ASCII without `*` and `>`, no token empty: what nearly every subject is. Without
/// a branch at each byte, and in numbers rather than truth values, so that many are looked at at once.
fn is_plain(text: &[u8]) -> bool {
    let ([first, rest @ ..], Some(last)) = (text, text.last()) else { return false };
    let odd = |b: u8| {
        let foreign = u8::from(b.wrapping_sub(b'!') > b'~' - b'!');
        foreign | u8::from(b == b'*') | u8::from(b == b'>')
    };
    let odds = text.iter().fold(0, |odds, b| odds | odd(*b));
    let both_dots = |a: u8, b: u8| u8::from(a == b'.') & u8::from(b == b'.');
    let empty = text.iter().zip(rest).fold(0, |empty, (a, b)| empty | both_dots(*a, *b));
    text.len() <= MAX_SUBJECT_BYTES && *first != b'.' && *last != b'.' && odds | empty == 0
}

/// Checks length, characters and that no token is empty, and shows each token's bytes to `token`.
pub(crate) fn check_tokens(
    text: &str,
    mut token: impl FnMut(usize, usize) -> Result<(), SubjectProblem>,
) -> Result<(), SubjectProblem> {
    if text.len() > MAX_SUBJECT_BYTES {
        return Err(SubjectProblem::TooLong { found: text.len() });
    }
    let bytes = text.as_bytes();
    let mut start = 0;
    let mut ascii = true;
    for offset in 0..=bytes.len() {
        match bytes.get(offset) {
            None | Some(b'.') => {
                if offset == start {
                    return Err(SubjectProblem::EmptyToken { offset });
                }
                token(start, offset)?;
                start = offset + 1;
            }
            Some(0..=b' ' | 0x7f) => {
                return Err(SubjectProblem::Character { found: bytes[offset].into(), offset });
            }
            Some(0x80..) => ascii = false,
            Some(_) => {}
        }
    }
    if !ascii {
        let odd = |&(_, c): &(usize, char)| c.is_whitespace() || c.is_control();
        if let Some((offset, found)) = text.char_indices().find(odd) {
            return Err(SubjectProblem::Character { found, offset });
        }
    }
    Ok(())
}

macro_rules! text_impls {
    ($name:ident) => {
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.as_str())
            }
        }
        impl std::str::FromStr for $name {
            type Err = SubjectError;
            fn from_str(text: &str) -> Result<Self, SubjectError> {
                Self::new(text)
            }
        }
        impl TryFrom<&str> for $name {
            type Error = SubjectError;
            fn try_from(text: &str) -> Result<Self, SubjectError> {
                Self::new(text)
            }
        }
        impl TryFrom<String> for $name {
            type Error = SubjectError;
            fn try_from(text: String) -> Result<Self, SubjectError> {
                Self::new(text)
            }
        }
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::new(text.as_ref()).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use text_impls;

text_impls!(Subject);

impl std::borrow::Borrow<str> for Subject {
    fn borrow(&self) -> &str {
        &self.0
    }
}
