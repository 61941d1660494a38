use std::collections::HashSet;
use std::fmt;

use super::{HeaderName, HeaderValue};

/// Headers in the order they were set. A name may stand twice in what was received from a
/// stranger; a message that repeats a name is refused when it is sent.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(HeaderName, HeaderValue)>);

/// Up to so many, comparing all pairs is cheaper than a set.
const FEW: usize = 16;

impl Headers {
    /// Sets `name` to `value`, in place of every value of this very name.
    pub fn set(&mut self, name: HeaderName, value: HeaderValue) {
        match self.0.iter().position(|(n, _)| *n == name) {
            None => self.0.push((name, value)),
            Some(first) => {
                self.0[first].1 = value;
                let mut index = 0;
                self.0.retain(|(n, _)| {
                    index += 1;
                    index - 1 <= first || *n != name
                });
            }
        }
    }

    /// Adds a header even where the name is there already, as received.
    pub fn append(&mut self, name: HeaderName, value: HeaderValue) {
        self.0.push((name, value));
    }

    /// The first value of this very name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// Every value of this very name.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(n, _)| *n == name).map(|(_, value)| value)
    }

    /// Names and values in order, as they are held.
    pub fn entries(
        &self,
    ) -> impl DoubleEndedIterator<Item = &(HeaderName, HeaderValue)> + ExactSizeIterator {
        self.0.iter()
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> + ExactSizeIterator {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Removes each header that `keep` says no to.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &str) -> bool) {
        self.0.retain(|(name, value)| keep(name.as_str(), value.as_str()));
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their size as text lines `name: value\r\n`, in bytes: what a broker's limit counts.
    #[must_use]
    pub fn wire_bytes(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.len() + 4).sum()
    }

    /// None, with room for so many.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// A name that stands more than once.
    #[must_use]
    pub fn repeated(&self) -> Option<&HeaderName> {
        let mut names = self.0.iter().map(|(name, _)| name);
        if self.0.len() <= FEW {
            let before = |at: usize, name: &HeaderName| self.0[..at].iter().any(|(n, _)| n == name);
            return names.enumerate().find(|(at, name)| before(*at, name)).map(|(_, name)| name);
        }
        let mut seen = HashSet::with_capacity(self.0.len());
        names.find(|name| !seen.insert(*name))
    }
}

impl FromIterator<(HeaderName, HeaderValue)> for Headers {
    fn from_iter<I: IntoIterator<Item = (HeaderName, HeaderValue)>>(headers: I) -> Self {
        Self(headers.into_iter().collect())
    }
}

impl IntoIterator for Headers {
    type Item = (HeaderName, HeaderValue);
    type IntoIter = std::vec::IntoIter<Self::Item>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Shows the names only: values may be secret.
impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}
