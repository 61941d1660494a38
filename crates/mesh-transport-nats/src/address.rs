//! Addresses in the own inbox: of one kind they differ in their random end alone.

use std::sync::Arc;

use async_nats::Subject;

use crate::pending::Key;

/// How many digits the random end has.
const DIGITS: usize = 32;

/// What all addresses of one kind begin with. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Branch(Arc<str>);

impl Branch {
    /// That of `sample`, an address whose random end does not matter.
    pub(crate) fn of(sample: &mesh_core::subject::Subject) -> Self {
        let text = sample.as_str();
        Self(text.get(..text.len().saturating_sub(DIGITS)).unwrap_or(text).into())
    }

    /// The address of `key`.
    pub(crate) fn address(&self, key: Key) -> Subject {
        let mut digits = [0; DIGITS];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(key.to_be_bytes()) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 0xf)];
        }
        let mut text = String::with_capacity(self.0.len() + DIGITS);
        text.push_str(&self.0);
        text.push_str(std::str::from_utf8(&digits).unwrap_or_default());
        Subject::from(text)
    }

    /// What its addresses begin with.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

const HEX: [u8; 16] = *b"0123456789abcdef";

/// What each byte is as a digit; 0xff for none.
const VALUES: [u8; 256] = {
    let mut values = [0xff; 256];
    let mut digit = 0;
    while digit < HEX.len() {
        values[HEX[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};

/// The random end of an address, read as [`Branch::address`] writes it, and what stands before it.
pub(crate) fn read(address: &str) -> Option<(&str, Key)> {
    let (branch, digits) = address.split_at_checked(address.len().checked_sub(DIGITS)?)?;
    let (high, low) = digits.as_bytes().split_at(DIGITS / 2);
    let mut odd = 0;
    // Without a branch at each digit: they are random.
    let mut half = |digits: &[u8]| {
        digits.iter().fold(0_u64, |half, digit| {
            let value = VALUES[usize::from(*digit)];
            odd |= value;
            half << 4 | u64::from(value & 0xf)
        })
    };
    let key = Key::from(half(high)) << 64 | Key::from(half(low));
    (odd < 0x10).then_some((branch, key))
}

#[cfg(test)]
mod tests {
    use mesh_core::identity::Principal;
    use mesh_core::topology::Inbox;

    use super::*;

    #[test]
    fn an_address_is_the_one_that_the_topology_makes() {
        let node = "n1".parse().unwrap();
        let inbox = Inbox::of(&Principal::Host { node });
        let branch = Branch::of(&inbox.confirmation(7));
        for key in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210] {
            let address = branch.address(key);
            assert_eq!(address.as_str(), inbox.confirmation(key).as_str());
            assert_eq!(read(&address), Some((branch.as_str(), key)));
            assert_eq!(branch.as_str(), "_INBOX.host.n1.ack.");
        }
    }

    #[test]
    fn nothing_else_is_an_address() {
        let digits = "0".repeat(32);
        let with = |end: &str| format!("_INBOX.host.n1.ack.{}{end}", &digits[end.len()..]);
        assert!(read(&with("f")).is_some());
        for end in ["F", "g", "+", ".", "é"] {
            assert_eq!(read(&with(end)), None, "{end}");
        }
        for short in ["", "0", &digits[1..]] {
            assert_eq!(read(short), None);
        }
    }
}
