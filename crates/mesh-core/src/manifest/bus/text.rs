use std::fmt;

use super::super::ProblemKind;

/// A text that a server's configuration can hold: one line, no control characters.
///
/// Quotes and backslashes may be in it: whoever writes the configuration escapes them.
///
/// ```
/// use mesh_core::manifest::ConfigText;
///
/// assert_eq!(ConfigText::new("a \"b\"").unwrap().as_str(), "a \"b\"");
/// assert!(ConfigText::new("a\nb").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigText(Box<str>);

impl ConfigText {
    /// The most bytes of one.
    pub const MAX_BYTES: usize = 1024;

    /// The text, unless it has a control character or is too long.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let fits = text.len() <= Self::MAX_BYTES && !text.chars().any(char::is_control);
        fits.then(|| Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn fixed(text: &str) -> Self {
        Self(text.into())
    }

    pub(super) fn read(text: &str) -> Result<Self, ProblemKind> {
        if text.is_empty() {
            return Err(ProblemKind::Empty);
        }
        Self::new(text).ok_or_else(|| ProblemKind::NotConfigurable(text.to_owned()))
    }
}

impl AsRef<str> for ConfigText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConfigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
