use std::borrow::Cow;
use std::fmt;

use crate::name::{NameError, RealmName};

/// A realm's name as it stands in an envelope or a URI: the grammar of [`RealmName`], checked,
/// borrowed where it can be. [`to_name`](Self::to_name) gives the kind that is held.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MxRealm<'a>(Cow<'a, str>);

impl<'a> MxRealm<'a> {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`NameError`] with the character and its byte offset.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Result<Self, NameError> {
        let text = text.into();
        crate::name::realm_problem(&text)
            .map_err(|problem| NameError { kind: "realm name", problem })?;
        Ok(Self(text))
    }

    /// The realm that `authority` begins with, up to a `/`, where it is spelled as it is.
    #[inline]
    pub(super) fn in_uri(authority: &'a str) -> Option<Self> {
        let end = crate::name::realm_in_uri(authority)?;
        Some(Self(Cow::Borrowed(&authority[..end])))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name on its own.
    #[must_use]
    pub fn to_name(&self) -> RealmName {
        RealmName::from_checked(&self.0)
    }

    /// The same realm, borrowed from this one.
    #[must_use]
    pub fn borrowed(&self) -> MxRealm<'_> {
        MxRealm(Cow::Borrowed(&self.0))
    }

    /// The realm without a borrow.
    #[must_use]
    pub fn into_owned(self) -> MxRealm<'static> {
        MxRealm(Cow::Owned(self.0.into_owned()))
    }
}

impl<'a> From<&'a RealmName> for MxRealm<'a> {
    fn from(name: &'a RealmName) -> Self {
        Self(Cow::Borrowed(name.as_str()))
    }
}

impl PartialEq<RealmName> for MxRealm<'_> {
    fn eq(&self, name: &RealmName) -> bool {
        *self.0 == *name.as_str()
    }
}

impl fmt::Display for MxRealm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for MxRealm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MxRealm({:?})", &*self.0)
    }
}

impl AsRef<str> for MxRealm<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}
