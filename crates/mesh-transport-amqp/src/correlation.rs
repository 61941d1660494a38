//! The ids by which what comes back is known: an answer, and a message that no queue took.

use lapin::types::ShortString;

/// 128 random bits, which nobody can guess; written as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CorrelationId(u128);

impl CorrelationId {
    /// Another each time.
    pub(crate) fn random() -> Self {
        Self(rand::random())
    }

    /// As a message carries it.
    pub(crate) fn text(self) -> ShortString {
        ShortString::from(format!("{:032x}", self.0))
    }

    /// An id as [`text`](Self::text) writes it.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let digits: &[u8; 32] = text.try_into().ok()?;
        let add = |number: u128, digit: &u8| {
            let digit = char::from(*digit).to_digit(16)?;
            Some(number << 4 | u128::from(digit))
        };
        digits.iter().try_fold(0, add).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written_and_no_other_way() {
        for text in [
            "",
            "1",
            &"f".repeat(31),
            &"g".repeat(32),
            &"f".repeat(33),
            &format!("+{}", "f".repeat(31)),
        ] {
            assert_eq!(CorrelationId::read(text.as_bytes()), None, "{text}");
        }
        for id in [CorrelationId(0), CorrelationId(7), CorrelationId(u128::MAX)] {
            assert_eq!(CorrelationId::read(id.text().as_str().as_bytes()), Some(id));
        }
    }
}
