use super::{Guard, Inbound, Now, Refusal, Stage, Verdict};
use crate::name::RealmName;

/// Drops what is meant for another realm. A message that names no realm (a legacy one may) is
/// meant for whoever owns the mailbox it came in by.
///
/// Realms are compared byte for byte (protocol §1).
#[derive(Debug, Clone)]
pub struct Addressed {
    realm: RealmName,
}

impl Addressed {
    /// Lets through what is meant for this realm.
    #[must_use]
    pub const fn to(realm: RealmName) -> Self {
        Self { realm }
    }
}

impl Guard for Addressed {
    fn name(&self) -> &'static str {
        "addressed"
    }

    fn stage(&self) -> Stage {
        Stage::Addressed
    }

    fn check(&self, inbound: &Inbound<'_>, _now: Now) -> Verdict {
        match inbound.to_realm {
            Some(realm) if realm != self.realm.as_str() => {
                Verdict::Refuse(Refusal::silent("meant for another realm"))
            }
            _ => Verdict::Pass,
        }
    }
}
