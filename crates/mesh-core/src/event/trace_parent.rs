use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use std::str::FromStr;

/// A W3C `traceparent`: the trace that a message belongs to, and the span that sent it.
///
/// ```
/// use mesh_core::event::TraceParent;
/// use std::num::NonZeroU64;
///
/// let came: TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse()?;
/// let sent = came.child(NonZeroU64::MIN);
/// assert_eq!(sent.to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000001-01");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace: NonZeroU128,
    span: NonZeroU64,
    flags: u8,
}

/// Why a text is not a `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceParentError {
    /// Not 55 bytes, or in a later version fewer than that or more than 256.
    #[error("traceparent: {found} bytes long")]
    Length {
        /// The bytes found.
        found: usize,
    },
    /// Neither a lower-case hexadecimal digit nor, where it has to stand, a `-`.
    #[error("traceparent: character not allowed at offset {offset}")]
    Character {
        /// Its byte offset.
        offset: usize,
    },
    /// The version `ff`, which is none.
    #[error("traceparent: version ff")]
    Version,
    /// An id that is all zeros.
    #[error("traceparent: an id that is zero at offset {offset}")]
    Zero {
        /// The byte offset of the id.
        offset: usize,
    },
}

/// The flags that version 00 gives a meaning to: sampled, and a trace id that is random.
const KNOWN_FLAGS: u8 = 0b11;
const SAMPLED: u8 = 0b01;

const LENGTH: usize = 55;
const TRACE: usize = 3;
const SPAN: usize = 36;
const FLAGS: usize = 53;

impl TraceParent {
    /// The most bytes that are read of a later version.
    pub const MAX_BYTES: usize = 256;

    /// A parent of its parts. Flags without a meaning in version 00 are left out.
    #[must_use]
    pub fn new(trace: NonZeroU128, span: NonZeroU64, flags: u8) -> Self {
        Self { trace, span, flags: flags & KNOWN_FLAGS }
    }

    /// The id of the trace.
    #[must_use]
    pub fn trace_id(&self) -> NonZeroU128 {
        self.trace
    }

    /// The id of the span that sent it.
    #[must_use]
    pub fn span_id(&self) -> NonZeroU64 {
        self.span
    }

    /// The flags of version 00.
    #[must_use]
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Whether the sender may have recorded the trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// What another span of the same trace sends on: the same trace and flags.
    #[must_use]
    pub fn child(&self, span: NonZeroU64) -> Self {
        Self { span, ..*self }
    }
}

impl FromStr for TraceParent {
    type Err = TraceParentError;

    /// Reads version 00 strictly. Of a later version the parts that it shares with this one are read, as
    /// W3C asks, and it is written as version 00 again.
    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        let bytes = text.as_bytes();
        let length = TraceParentError::Length { found: bytes.len() };
        if !(LENGTH..=Self::MAX_BYTES).contains(&bytes.len()) {
            return Err(length);
        }
        for (offset, byte) in bytes.iter().enumerate().take(LENGTH) {
            let fits = match offset {
                2 | 35 | 52 => *byte == b'-',
                _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            };
            if !fits {
                return Err(TraceParentError::Character { offset });
            }
        }
        let known = match (&bytes[..2], bytes.get(LENGTH)) {
            (b"ff", _) => return Err(TraceParentError::Version),
            (b"00", None) => KNOWN_FLAGS,
            (b"00", Some(_)) => return Err(length),
            (_, None | Some(b'-')) => SAMPLED,
            (_, Some(_)) => return Err(TraceParentError::Character { offset: LENGTH }),
        };
        let zero = |offset| TraceParentError::Zero { offset };
        let trace = NonZeroU128::new(hexadecimal(&bytes[TRACE..SPAN - 1])).ok_or(zero(TRACE))?;
        let span = hexadecimal(&bytes[SPAN..FLAGS - 1]) as u64;
        let span = NonZeroU64::new(span).ok_or(zero(SPAN))?;
        let flags = hexadecimal(&bytes[FLAGS..LENGTH]) as u8;
        Ok(Self { trace, span, flags: flags & known })
    }
}

/// Of digits that were checked.
fn hexadecimal(digits: &[u8]) -> u128 {
    digits.iter().fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            _ => digit.wrapping_sub(b'a').wrapping_add(10),
        };
        number << 4 | u128::from(value)
    })
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}
