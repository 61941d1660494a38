//! What a log-in is proven with.

use mesh_core::credential::Login;
use nkeys::{KeyPair, KeyPairType};

use crate::TargetError;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The password is sent.
    Password,
    /// The password is a seed: what the server asks for is signed with it.
    NKey,
}

impl Proof {
    /// Which of them, by the user's name: no user of a mesh has capitals in it.
    ///
    /// # Errors
    /// Where a seed would be sent, or could prove nothing.
    pub(crate) fn of(login: &Login) -> Result<Self, TargetError> {
        let (user, secret) = (login.user(), login.password().expose());
        let seed = KeyPair::from_seed(secret).ok();
        if !looks_like_a_key(user) {
            return if seed.is_some() {
                Err(TargetError::SeedAsPassword)
            } else {
                Ok(Self::Password)
            };
        }
        match KeyPair::from_public_key(user) {
            Ok(key) if key.key_pair_type() == KeyPairType::User => {}
            _ => return Err(TargetError::NotAnNKey),
        }
        // With what it is a key of in front, so an account's seed of the same bits is another.
        match seed {
            Some(seed) if seed.public_key() == user => Ok(Self::NKey),
            _ => Err(TargetError::OtherSeed),
        }
    }
}

/// 56 characters of base 32, the first of which says that it is a user's.
fn looks_like_a_key(text: &str) -> bool {
    text.len() == 56
        && text.starts_with('U')
        && text.bytes().all(|b| b.is_ascii_uppercase() || matches!(b, b'2'..=b'7'))
}

#[cfg(test)]
mod tests {
    use mesh_core::credential::Secret;

    use super::*;

    fn of(user: &str, secret: &str) -> Result<Proof, TargetError> {
        Proof::of(&Login::new(user, Secret::new(secret)).unwrap())
    }

    fn key(kind: KeyPairType, first: u8) -> (String, String) {
        let key = KeyPair::new_from_raw(kind, [first; 32]).unwrap();
        (key.public_key(), key.seed().unwrap())
    }

    #[test]
    fn a_public_key_with_its_seed_is_an_nkey_and_anything_else_a_password() {
        let (public, seed) = key(KeyPairType::User, 7);
        assert_eq!(of(&public, &seed), Ok(Proof::NKey));
        for (user, password) in [("mail.n1", "hunter2"), ("U", "SU"), (&"U".repeat(55), "p")] {
            assert_eq!(of(user, password), Ok(Proof::Password), "{user}");
        }
    }

    #[test]
    fn a_wrong_seed_is_refused_before_anything_is_dialled() {
        let (public, seed) = key(KeyPairType::User, 7);
        let (_, other) = key(KeyPairType::User, 8);
        let (_, of_account) = key(KeyPairType::Account, 7);
        let slipped = seed.replacen('A', "B", 1);
        for secret in [other.as_str(), &of_account, &slipped, "hunter2", &public, &seed[1..]] {
            assert_eq!(of(&public, secret), Err(TargetError::OtherSeed));
        }
        let slipped =
            public.replacen(&public[10..11], if &public[10..11] == "A" { "B" } else { "A" }, 1);
        assert_eq!(of(&slipped, &seed), Err(TargetError::NotAnNKey));
    }

    #[test]
    fn a_seed_is_never_sent_as_a_password() {
        let (public, seed) = key(KeyPairType::User, 7);
        for user in ["mail.n1", &public[1..], &public.to_lowercase()] {
            assert_eq!(of(user, &seed), Err(TargetError::SeedAsPassword), "{user}");
        }
        let (account, of_account) = key(KeyPairType::Account, 7);
        assert_eq!(of(&account, &of_account), Err(TargetError::SeedAsPassword));
    }

    #[test]
    fn no_error_and_no_debug_shows_a_seed() {
        let (public, seed) = key(KeyPairType::User, 7);
        for user in ["mail.n1", &key(KeyPairType::User, 8).0, &public] {
            let login = Login::new(user, Secret::new(seed.as_str())).unwrap();
            let shown = match Proof::of(&login) {
                Ok(proof) => format!("{proof:?} {login:?}"),
                Err(error) => format!("{error} {error:?} {login:?}"),
            };
            assert!(!shown.contains(&seed[4..20]), "{shown}");
        }
    }
}
