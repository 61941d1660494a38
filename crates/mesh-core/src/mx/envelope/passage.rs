use super::decode::Top;
use super::field::Field;
use super::{DecodeError, DecodeProblem, Envelope};

/// An MXENV/1 on its way through a router, who reads it with the same strictness as its last reader and
/// changes nothing of it but `ttl` (protocol §8): body, order, white space and fields that nobody knows
/// stay as they came, byte for byte.
///
/// ```
/// use mesh_core::mx::{DEFAULT_MAX_BYTES, Passage};
///
/// let bytes = br#"{"msgType":"Evt", "to":{"realm":"a.b","path":"x.emits.y"}, "ttl": 3,
///   "from":{"realm":"c"}, "msgId":"m-1", "body":1e400, "of":"later"}"#;
/// let passage = Passage::read(bytes, DEFAULT_MAX_BYTES)?;
/// assert_eq!((passage.envelope().to.realm.as_str(), passage.ttl()), ("a.b", Some(3)));
/// let passed_on = String::from_utf8(passage.with_ttl(2))?;
/// assert_eq!(passed_on, std::str::from_utf8(bytes)?.replace("3,", "2,"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Passage<'a> {
    bytes: &'a [u8],
    envelope: Envelope<'a>,
    hole: Hole,
}

/// Where the number stands, or is to be put, and what goes before and behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Hole {
    from: usize,
    to: usize,
    around: [&'static str; 2],
}

impl<'a> Passage<'a> {
    /// Reads an MXENV/1 of at most `max_bytes`, as [`decode`](super::decode) does.
    ///
    /// # Errors
    /// [`DecodeError`] with the field and the byte offset. A legacy envelope is refused for its
    /// [`Shape`](DecodeProblem::Shape): it has no hops to count.
    pub fn read(bytes: &'a [u8], max_bytes: usize) -> Result<Self, DecodeError> {
        let top = Top::read(bytes, max_bytes)?;
        if !top.is_mxenv() {
            return Err(DecodeError::new(super::decode::WHOLE, top.offset, DecodeProblem::Shape));
        }
        let hole = match top.at(Field::Ttl) {
            Some(ttl) => {
                Hole { from: ttl.offset, to: ttl.offset + ttl.text.len(), around: ["", ""] }
            }
            // The object is not empty: it has a type.
            None => Hole { from: top.offset + 1, to: top.offset + 1, around: ["\"ttl\":", ","] },
        };
        Ok(Self { bytes, envelope: Envelope::read(top)?, hole })
    }

    /// What it says.
    #[must_use]
    pub fn envelope(&self) -> &Envelope<'a> {
        &self.envelope
    }

    /// How many routers may still pass it on, where it says so.
    #[must_use]
    pub fn ttl(&self) -> Option<u64> {
        self.envelope.ttl
    }

    /// The same bytes, with this `ttl`.
    #[must_use]
    pub fn with_ttl(&self, ttl: u64) -> Vec<u8> {
        let Hole { from, to, around: [before, behind] } = self.hole;
        let ttl = ttl.to_string();
        let mut bytes =
            Vec::with_capacity(self.bytes.len() + before.len() + ttl.len() + behind.len());
        bytes.extend_from_slice(self.bytes.get(..from).unwrap_or_default());
        for part in [before, &ttl, behind] {
            bytes.extend_from_slice(part.as_bytes());
        }
        bytes.extend_from_slice(self.bytes.get(to..).unwrap_or_default());
        bytes
    }
}
