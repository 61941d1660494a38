use std::collections::BTreeMap;
use std::fmt;

use mesh_core::manifest::SecretKind;

/// What a server's file holds of a user, to know it again: never the secret itself. Its constructors
/// check the shape, so a plain password can't be one.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    kind: SecretKind,
    text: Box<str>,
}

/// Why a text verifies nobody. It does not show the text, which may be a secret by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifierError {
    /// Not `$2a$`, `$2b$` or `$2y$`, a cost from 4 to 31 in two digits, `$` and 53 characters of bcrypt's.
    #[error("not a bcrypt hash")]
    NotBcrypt,
    /// Not the public key of a user: 56 characters that begin with `U`, checksum included.
    #[error("not a user's public nkey")]
    NotAnNKey,
}

/// Where the verifiers of users are kept.
pub trait Verifiers {
    /// That of the user of this name; nothing, where it has none.
    fn verifier(&self, user: &str) -> Option<Verifier>;
}

impl Verifiers for BTreeMap<String, Verifier> {
    fn verifier(&self, user: &str) -> Option<Verifier> {
        self.get(user).cloned()
    }
}

impl Verifier {
    /// A bcrypt hash, `$2b$04$…`.
    ///
    /// # Errors
    /// [`VerifierError::NotBcrypt`].
    pub fn bcrypt(hash: &str) -> Result<Self, VerifierError> {
        if !is_bcrypt(hash.as_bytes()) {
            return Err(VerifierError::NotBcrypt);
        }
        Ok(Self { kind: SecretKind::Bcrypt, text: hash.into() })
    }

    /// A user's public nkey, `U…`.
    ///
    /// # Errors
    /// [`VerifierError::NotAnNKey`], for a seed too, and for the key of anything but a user.
    pub fn nkey(public: &str) -> Result<Self, VerifierError> {
        if !is_user_key(public.as_bytes()) {
            return Err(VerifierError::NotAnNKey);
        }
        Ok(Self { kind: SecretKind::NKey, text: public.into() })
    }

    /// What it verifies.
    #[must_use]
    pub fn kind(&self) -> SecretKind {
        self.kind
    }

    /// What the file holds.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A hash is no secret, but whoever has it can try passwords on it.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("kind", &self.kind).finish_non_exhaustive()
    }
}

fn is_bcrypt(hash: &[u8]) -> bool {
    let [b'$', b'2', b'a' | b'b' | b'y', b'$', tens, ones, b'$', rest @ ..] = hash else {
        return false;
    };
    let digits = tens.is_ascii_digit() && ones.is_ascii_digit();
    let cost = || (tens - b'0') * 10 + (ones - b'0');
    let of_bcrypt = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/');
    digits && (4..=31).contains(&cost()) && rest.len() == 53 && rest.iter().all(of_bcrypt)
}

/// 35 bytes in base 32: what it is the key of, the key, and a checksum of both.
fn is_user_key(text: &[u8]) -> bool {
    if text.len() != 56 || text[0] != b'U' {
        return false;
    }
    let (mut bytes, mut held, mut bits) = (Vec::with_capacity(35), 0_u32, 0);
    for letter in text {
        let five = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'2'..=b'7' => letter - b'2' + 26,
            _ => return false,
        };
        held = (held << 5 | u32::from(five)) & 0xffff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    let Some((key, checksum)) = bytes.split_last_chunk::<2>() else {
        return false;
    };
    crc16(key) == u16::from_le_bytes(*checksum)
}

/// The checksum of nkeys: CCITT's polynomial, from zero (XMODEM).
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "$2b$04$EgcJGzFHQy0BvbkZVsYpHOFH8JqRTPu3ZGcJk7nRYG8/wqCYxyGsi";

    #[test]
    fn a_plain_password_is_no_verifier_whatever_it_looks_like() {
        assert_eq!(Verifier::bcrypt(HASH).unwrap().as_str(), HASH);
        let cheap = HASH.replace("$04$", "$03$");
        let (short, long) = (&HASH[..59], format!("{HASH}x"));
        for text in [
            "",
            "secret",
            "$2a$x",
            "$2a$",
            cheap.as_str(),
            short,
            long.as_str(),
            &HASH.replace("$2b$", "$2x$"),
            &HASH.replace('8', "\""),
            &HASH.replace('8', "\n"),
            "4e2x",
        ] {
            assert_eq!(Verifier::bcrypt(text), Err(VerifierError::NotBcrypt), "{text}");
            assert_eq!(Verifier::nkey(text), Err(VerifierError::NotAnNKey), "{text}");
        }
    }

    #[test]
    fn a_key_is_a_users_public_one_without_a_slip() {
        const KEY: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
        assert_eq!(Verifier::nkey(KEY).unwrap().kind(), SecretKind::NKey);
        let slipped = KEY.replacen('X', "Y", 1);
        let seed = "SUAGMJH5XLGZKQQWAWKRZJIGMOU4HPFUYLXJMXOO5NLFEO2OOQJ5LPRDPM";
        for text in [slipped.as_str(), seed, &KEY[1..], &KEY.to_lowercase(), HASH] {
            assert_eq!(Verifier::nkey(text), Err(VerifierError::NotAnNKey), "{text}");
        }
    }

    #[test]
    fn what_it_holds_is_not_shown() {
        let shown = format!("{:?}", Verifier::bcrypt(HASH));
        assert!(!shown.contains("EgcJ"), "{shown}");
    }
}
