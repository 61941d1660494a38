use std::fmt;
use std::str::FromStr;

/// The sha256 of a broker's leaf certificate, in DER.
///
/// Read as 64 hexadecimal digits of either case, with an optional `sha256:` in front and optional
/// colons between the bytes; written as 64 lower-case digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

/// Why a text is not a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("fingerprint: {problem} at offset {offset}")]
#[non_exhaustive]
pub struct FingerprintError {
    /// What is wrong.
    pub problem: FingerprintProblem,
    /// Byte offset of it.
    pub offset: usize,
}

/// What is wrong with a text that should have been a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FingerprintProblem {
    /// Another character where a hexadecimal digit, or a colon between two bytes, was wanted.
    Character,
    /// Fewer than 64 digits.
    TooShort,
    /// Something after the 64th digit.
    TooLong,
}

impl fmt::Display for FingerprintProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Character => "not a hexadecimal digit",
            Self::TooShort => "fewer than 64 digits: the text ends",
            Self::TooLong => "more than 64 digits:",
        })
    }
}

impl Fingerprint {
    /// The hash itself.
    #[must_use]
    pub const fn from_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The hash itself.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        const PREFIX: &str = "sha256:";
        let bytes = text.as_bytes();
        let mut at = match text.get(..PREFIX.len()) {
            Some(prefix) if prefix.eq_ignore_ascii_case(PREFIX) => PREFIX.len(),
            _ => 0,
        };
        let mut hash = [0; 32];
        for (index, byte) in hash.iter_mut().enumerate() {
            if index > 0 && bytes.get(at) == Some(&b':') {
                at += 1;
            }
            for _ in 0..2 {
                *byte = *byte << 4 | digit(bytes, at)?;
                at += 1;
            }
        }
        if at < bytes.len() {
            return Err(FingerprintError { problem: FingerprintProblem::TooLong, offset: at });
        }
        Ok(Self(hash))
    }
}

fn digit(bytes: &[u8], offset: usize) -> Result<u8, FingerprintError> {
    let problem = match bytes.get(offset) {
        None => FingerprintProblem::TooShort,
        Some(digit @ b'0'..=b'9') => return Ok(digit - b'0'),
        Some(digit @ b'a'..=b'f') => return Ok(digit - b'a' + 10),
        Some(digit @ b'A'..=b'F') => return Ok(digit - b'A' + 10),
        Some(_) => FingerprintProblem::Character,
    };
    Err(FingerprintError { problem, offset })
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// The certificates that a broker may present: 1 to 8, usually the current one and, while it is
/// being replaced, the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprints(Vec<Fingerprint>);

impl Fingerprints {
    /// The most that are read.
    pub const MAX: usize = 8;

    /// `None` where there are none, or more than [`MAX`](Self::MAX).
    #[must_use]
    pub fn new(fingerprints: Vec<Fingerprint>) -> Option<Self> {
        (1..=Self::MAX).contains(&fingerprints.len()).then_some(Self(fingerprints))
    }

    /// Whether a certificate with this hash is accepted.
    #[must_use]
    pub fn contains(&self, presented: &Fingerprint) -> bool {
        self.0.contains(presented)
    }

    /// Each of them, at least one.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Fingerprint> {
        self.0.iter()
    }
}

impl From<Fingerprint> for Fingerprints {
    fn from(one: Fingerprint) -> Self {
        Self(vec![one])
    }
}
