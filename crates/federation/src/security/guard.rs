use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use mesh_core::guard::{Now, Refusal, Stage, Verdict};
use mesh_core::mx::{Envelope, Profile};
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;

use super::token::Token;
use super::{KeySource, Lifetimes, Refused};
use crate::Freshness;
use crate::edge::{Arrival, AsyncGuard};

/// Who has to prove that a message is theirs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Required {
    /// Every realm.
    #[default]
    All,
    /// These realms. Tokens of others are not looked at: a stranger then can't have its keys fetched.
    Realms(HashSet<RealmName>),
    /// None.
    Off,
}

/// The guard of MXSEC/1 (protocol §8): drops what does not prove that it is of the realm it says.
///
/// - What is refused is dropped without an answer, and counted by reason ([`Refused::name`] in the
///   guard's figures, and `proven`). In shadow it is counted and goes on, not proven.
/// - What is proven is so for guards after it: [`Inbound::proven`](mesh_core::guard::Inbound::proven).
/// - The legacy profile has no place for a token. A realm that has to prove itself can use it only where
///   [`allow_legacy`](Self::allow_legacy) says so, and is then no more than a claim. A legacy reply that names
///   no realm passes where only listed realms have to prove themselves: it settles nothing but a question
///   that was asked in the legacy profile.
/// - A token is good for its message once: the guard against replays comes next, and remembers for longer
///   than a token is valid.
///
/// ```
/// use mesh_core::guard::Mode;
/// use mesh_core::name::RealmName;
/// use mesh_federation::edge::EdgeConfig;
/// use mesh_federation::security::{Algorithm, Keys, MxSec, StaticKeys, generate};
///
/// let shop = generate(Algorithm::Es256)?;
/// let keys = Keys::from_jwks(&format!(r#"{{"keys":[{}]}}"#, shop.jwk()))?;
/// let keys = StaticKeys::new().with(RealmName::new("shop")?, keys);
///
/// let local = RealmName::new("acme.com")?;
/// let mut config = EdgeConfig::new(local.clone());
/// config.rules = config.rules.waiting(Mode::Enforce, MxSec::new(local, keys));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MxSec {
    local: RealmName,
    keys: Arc<dyn KeySource>,
    required: Required,
    legacy: HashSet<RealmName>,
    lifetimes: Lifetimes,
    proven: AtomicU64,
    refused: Vec<AtomicU64>,
}

impl MxSec {
    /// The guard of the realm `local`'s gateway, by which every realm has to prove itself.
    #[must_use]
    pub fn new(local: RealmName, keys: impl KeySource + 'static) -> Self {
        Self {
            local,
            keys: Arc::new(keys),
            required: Required::default(),
            legacy: HashSet::new(),
            lifetimes: Lifetimes::default(),
            proven: AtomicU64::new(0),
            refused: Refused::ALL.iter().map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The same for these realms.
    #[must_use]
    pub fn required(mut self, required: Required) -> Self {
        self.required = required;
        self
    }

    /// The same with a realm that may use the legacy profile, unproven.
    #[must_use]
    pub fn allow_legacy(mut self, realm: RealmName) -> Self {
        self.legacy.insert(realm);
        self
    }

    /// The same with tokens of another age.
    #[must_use]
    pub fn lifetimes(mut self, lifetimes: Lifetimes) -> Self {
        self.lifetimes = lifetimes;
        self
    }

    /// Whether `envelope` is proven to be of the realm that it says, at `now`.
    ///
    /// # Errors
    /// [`Refused`] with the reason.
    pub async fn prove(&self, envelope: &Envelope<'_>, now: Timestamp) -> Result<(), Refused> {
        let token = Token::read(envelope.auth.as_ref().ok_or(Refused::NoToken)?)?;
        token.check(envelope, &self.local, now, self.lifetimes)?;
        let realm = envelope.from.realm.to_name();
        let keys = self.keys(&realm, Freshness::Kept).await?;
        match token.key(&keys) {
            Ok(key) => token.verify(key),
            Err(_) => {
                let keys = self.keys(&realm, Freshness::Anew).await?;
                token.verify(token.key(&keys)?)
            }
        }
    }

    async fn keys(
        &self,
        realm: &RealmName,
        freshness: Freshness,
    ) -> Result<Arc<super::Keys>, Refused> {
        self.keys.keys(realm, freshness).await.map_err(|error| {
            tracing::debug!(%realm, %error, "no keys to check a token with");
            Refused::NoKeys
        })
    }

    fn has_to(&self, realm: Option<&str>) -> bool {
        match &self.required {
            Required::All => true,
            Required::Realms(realms) => realm.is_some_and(|realm| realms.contains(realm)),
            Required::Off => false,
        }
    }

    fn refuse(&self, refused: Refused) -> Verdict {
        let place = Refused::ALL.iter().position(|of| *of == refused);
        if let Some(count) = place.and_then(|place| self.refused.get(place)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Verdict::Refuse(Refusal::silent(refused.as_str()))
    }
}

#[async_trait]
impl AsyncGuard for MxSec {
    fn name(&self) -> &'static str {
        "mxsec"
    }

    fn stage(&self) -> Stage {
        Stage::Security
    }

    async fn check(&self, arrival: &Arrival<'_>, now: Now) -> Verdict {
        let realm = arrival.inbound().from_realm.map(str::to_owned);
        let realm = realm.as_deref();
        if !self.has_to(realm) {
            return Verdict::Pass;
        }
        if arrival.profile() == Profile::Legacy {
            let allowed = realm.is_some_and(|realm| self.legacy.contains(realm));
            return if allowed { Verdict::Pass } else { self.refuse(Refused::Legacy) };
        }
        let Some(envelope) = arrival.envelope() else {
            return self.refuse(Refused::Legacy);
        };
        match self.prove(envelope, now.wall).await {
            Ok(()) => {
                self.proven.fetch_add(1, Ordering::Relaxed);
                arrival.prove();
                Verdict::Pass
            }
            Err(refused) => self.refuse(refused),
        }
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        let counts = self.refused.iter().map(|count| count.load(Ordering::Relaxed));
        let refused = Refused::ALL.iter().map(|refused| refused.name()).zip(counts);
        let proven = ("proven", self.proven.load(Ordering::Relaxed));
        std::iter::once(proven).chain(refused.filter(|(_, count)| *count > 0)).collect()
    }
}

impl fmt::Debug for MxSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MxSec")
            .field("local", &self.local)
            .field("required", &self.required)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}
