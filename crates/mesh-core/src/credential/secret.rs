use std::fmt;

use serde::{Deserialize, Deserializer};

/// A password or the like. `Debug` prints `[redacted]`; there is no `Display` and no `Serialize`. It is read
/// from a string.
///
/// The memory is not wiped when it is dropped: a process keeps its password as long as it may have
/// to connect again, and copies that this type never saw (the file's text, the client's) live
/// longer than this one.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Takes the text.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<str>::deserialize(deserializer).map(Self)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
