use std::borrow::Cow;
use std::fmt;

use crate::name::{Class, NameProblem, printable, special};
use crate::subject::MAX_SUBJECT_BYTES;

/// The address of one command or event inside a realm: `<mount>/…/<component.path>.<plane>.<message>`.
///
/// At least one component label; plane `accepts` or `emits`; no empty part; nowhere `* > # %`,
/// white space or control characters; `.` inside a mount alone, and not twice in a row there; at
/// most 248 bytes, so that the internal topic of a one-letter realm stays within 255. Any path is
/// text that a subject may hold (protocol §8).
///
/// ```
/// use mesh_core::mx::{MxPath, Plane};
///
/// let path = MxPath::new("project/daemon.project.accepts.scan")?;
/// assert_eq!(path.mounts().collect::<Vec<_>>(), ["project"]);
/// assert_eq!((path.component(), path.plane(), path.message()), ("daemon.project", Plane::Accepts, "scan"));
///
/// let error = MxPath::new("project/>").unwrap_err();
/// assert_eq!(error.to_string(), "path: character '>' at offset 8 is not allowed");
/// # Ok::<(), mesh_core::mx::PathError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MxPath<'a>(Cow<'a, str>);

/// Which side of a component a path means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
// Exhaustive on purpose: the protocol has these two.
pub enum Plane {
    /// What the component takes: commands.
    Accepts,
    /// What the component says: events.
    Emits,
}

/// Why a text is not a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// An empty part, a character that may not stand there, or too many bytes.
    Text(NameProblem),
    /// Where the plane should be, before the last dot of the last segment, is not `accepts` or `emits`.
    Plane {
        /// Byte offset where the plane should begin.
        offset: usize,
    },
}

impl PathError {
    /// Byte offset in the path of what is wrong.
    #[must_use]
    pub fn offset(&self) -> usize {
        match self {
            Self::Text(problem) => problem.offset(),
            Self::Plane { offset } => *offset,
        }
    }
}

/// `mx/1/` + a realm of one letter + `/` come before it.
const MAX_BYTES: usize = MAX_SUBJECT_BYTES - "mx/1/r/".len();

impl<'a> MxPath<'a> {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`PathError`] with the problem and its byte offset.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Result<Self, PathError> {
        let text = text.into();
        check::<false>(&text)?;
        Ok(Self(text))
    }

    /// The path that a compact URI spells as it is. `None`: `text` is none, or a URI says something
    /// else by it.
    #[inline]
    pub(super) fn in_uri(text: &'a str) -> Option<Self> {
        check::<true>(text).ok()?;
        Some(Self(Cow::Borrowed(text)))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The mounts, outermost first.
    pub fn mounts(&self) -> impl DoubleEndedIterator<Item = &str> {
        let mounts = self.0.rsplit_once('/').map(|(mounts, _)| mounts);
        mounts.into_iter().flat_map(|mounts| mounts.split('/'))
    }

    /// The component: labels joined by `.`.
    #[must_use]
    pub fn component(&self) -> &str {
        self.atom().0
    }

    /// The plane.
    #[must_use]
    pub fn plane(&self) -> Plane {
        self.atom().1
    }

    /// The command or event.
    #[must_use]
    pub fn message(&self) -> &str {
        self.atom().2
    }

    /// The same path, borrowed from this one.
    #[must_use]
    pub fn borrowed(&self) -> MxPath<'_> {
        MxPath(Cow::Borrowed(&self.0))
    }

    /// The path without a borrow.
    #[must_use]
    pub fn into_owned(self) -> MxPath<'static> {
        MxPath(Cow::Owned(self.0.into_owned()))
    }

    fn atom(&self) -> (&str, Plane, &str) {
        let atom = self.0.rsplit_once('/').map_or(&*self.0, |(_, atom)| atom);
        // The constructor saw two dots with a plane between.
        let (front, message) = atom.rsplit_once('.').unwrap_or((atom, ""));
        let (component, plane) = front.rsplit_once('.').unwrap_or((front, ""));
        let plane = Plane::from_text(plane).unwrap_or(Plane::Accepts);
        (component, plane, message)
    }
}

impl Plane {
    /// `accepts` or `emits`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepts => "accepts",
            Self::Emits => "emits",
        }
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        match text {
            "accepts" => Some(Self::Accepts),
            "emits" => Some(Self::Emits),
            _ => None,
        }
    }
}

/// Checks a whole path in one pass over its bytes.
///
/// `URI`: refuses what is no path in a compact URI, `?` and a mount that is a bare `-`; with which
/// error does not matter.
#[inline]
fn check<const URI: bool>(text: &str) -> Result<(), PathError> {
    let empty = |offset| Err(PathError::Text(NameProblem::Empty { offset }));
    let bytes = text.as_bytes();
    let mut segment = 0;
    let mut part = 0;
    // Where the last two dots of this segment stand, the later one first.
    let mut dots = (usize::MAX, usize::MAX);
    // Where an empty part between two dots was seen in this segment, or before its first dot.
    let mut hole = usize::MAX;
    let mut ascii = true;
    let mut next = 0;
    while let Some((offset, byte, class)) = special(bytes, next) {
        next = offset + 1;
        match class {
            Class::Plain => {}
            Class::Dot => {
                if offset == part {
                    // A mount may begin with a dot, but two in a row make an empty subject token.
                    if offset > segment {
                        return empty(offset);
                    }
                    hole = offset;
                }
                dots = (offset, dots.0);
                part = next;
            }
            Class::Slash => {
                if offset == segment || URI && bytes[segment..offset] == *b"-" {
                    return empty(segment);
                }
                segment = next;
                part = segment;
                dots = (usize::MAX, usize::MAX);
                hole = usize::MAX;
            }
            Class::Wide => ascii = false,
            Class::Mark if !URI || byte != b'?' => {}
            Class::Mark | Class::Barred => {
                return Err(PathError::Text(NameProblem::Character { found: byte.into(), offset }));
            }
        }
    }
    if !ascii {
        printable(text).map_err(PathError::Text)?;
    }
    if hole != usize::MAX {
        return empty(hole);
    }
    if part == bytes.len() {
        return empty(part);
    }
    let plane = match dots {
        (end, start) if start != usize::MAX => Plane::from_text(&text[start + 1..end]),
        _ => None,
    };
    if plane.is_none() {
        let offset = match dots {
            (_, start) if start != usize::MAX => start + 1,
            _ => segment,
        };
        return Err(PathError::Plane { offset });
    }
    if bytes.len() > MAX_BYTES {
        return Err(PathError::Text(NameProblem::TooLong { max: MAX_BYTES, found: bytes.len() }));
    }
    Ok(())
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(problem) => write!(f, "path: {problem}"),
            Self::Plane { offset } => {
                write!(f, "path: no `accepts` or `emits` at offset {offset}")
            }
        }
    }
}

impl std::error::Error for PathError {}

impl fmt::Display for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for MxPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for MxPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MxPath({:?})", &*self.0)
    }
}

impl AsRef<str> for MxPath<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for MxPath<'static> {
    type Err = PathError;
    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::new(text.to_owned())
    }
}
