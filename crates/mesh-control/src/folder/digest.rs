use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// A SHA-256, written as nats-server writes its `config_digest`: `sha256:` and 64 digits of hex.
///
/// [`of`](Self::of) is that of some bytes, such as a file's. The server's own is of what it has read in
/// its file: comments don't count, so the two differ.
///
/// ```
/// use mesh_control::folder::Digest;
///
/// let digest = Digest::of(b"port: 4222\n");
/// assert!(digest.to_string().starts_with("sha256:"));
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

/// Not `sha256:` and 64 digits of lower-case hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not `sha256:` and 64 digits of lower-case hex")]
pub struct NotADigest;

const PREFIX: &str = "sha256:";

impl Digest {
    /// That of these bytes.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// That of what was written to this hash.
    pub(crate) fn from_hash(hash: Sha256) -> Self {
        Self(hash.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let hex = text.strip_prefix(PREFIX).ok_or(NotADigest)?.as_bytes();
        let mut bytes = [0; 32];
        if hex.len() != 2 * bytes.len() {
            return Err(NotADigest);
        }
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks(2)) {
            let digits = pair.iter().map(|digit| match digit {
                b'0'..=b'9' => Ok(digit - b'0'),
                b'a'..=b'f' => Ok(digit - b'a' + 10),
                _ => Err(NotADigest),
            });
            for digit in digits {
                *byte = *byte << 4 | digit?;
            }
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_the_bytes_and_comes_back_from_its_text() {
        let digest = Digest::of(b"abc");
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse(), Ok(digest));
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        let good = Digest::of(b"").to_string();
        for other in ["", "sha256:", &good[7..], &good[..70], &good.to_uppercase(), "sha1:00"] {
            assert_eq!(other.parse::<Digest>(), Err(NotADigest), "{other}");
        }
    }
}
