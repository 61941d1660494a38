use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::name::RealmName;

use super::{KeySource, Keys, KeysUnavailable};
use crate::Freshness;
use crate::cache::{Busy, Cache, Limits};
use crate::discovery::Discovery;

/// Keys that realms publish in their MXDISC/1 document, or where that points to.
///
/// - They are kept as long as the document says, 24 hours at most: until then a key that its realm has
///   withdrawn still proves.
/// - A token with an unknown key makes the realm be asked again, at most once in 30 s.
/// - At most 1,024 realms' keys are kept, 16 realms are asked at once, and a failure is remembered for 30 s. For
///   keys wait at most 256 messages at once, 32 of them of one realm: fewer than a gateway has
///   [places](crate::edge::EdgeLimits::max_waiting), so a slow stranger takes them from nobody.
#[derive(Debug)]
pub struct DiscoveredKeys {
    discovery: Arc<Discovery>,
    cache: Cache<Keys, KeysUnavailable>,
}

/// How long keys are kept that stand in the document itself, which is kept already.
const INLINE: Duration = Duration::from_secs(60);

impl DiscoveredKeys {
    /// Keys of the realms that `discovery` finds.
    #[must_use]
    pub fn new(discovery: Arc<Discovery>) -> Self {
        let limits = Limits {
            realms: NonZeroUsize::MIN.saturating_add(1023),
            flights: 16,
            waiting: (256, 32),
            kept: (Duration::from_secs(60), Duration::from_secs(24 * 3600)),
            failed: Duration::from_secs(30),
            again: Duration::from_secs(30),
        };
        Self { cache: Cache::new(discovery.clock(), limits), discovery }
    }

    /// What was kept and fetched, by name.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        self.cache.figures()
    }

    async fn fetch(
        &self,
        realm: &RealmName,
        freshness: Freshness,
    ) -> Result<(Keys, Duration), KeysUnavailable> {
        let failed = |error: crate::discovery::DiscoveryError| match error {
            crate::discovery::DiscoveryError::Busy => KeysUnavailable::Busy,
            error => KeysUnavailable::Fetch(error.to_string()),
        };
        let document = self.discovery.document(realm, freshness).await.map_err(failed)?;
        if let Some(jwks) = document.jwks() {
            return Ok((Keys::from_jwks(jwks)?, INLINE));
        }
        let Some(uri) = document.jwks_uri() else {
            return Err(KeysUnavailable::Unknown);
        };
        let jwks = self.discovery.jwks(uri).await.map_err(failed)?;
        Ok((Keys::from_jwks(&jwks)?, document.max_age()))
    }
}

#[async_trait]
impl KeySource for DiscoveredKeys {
    async fn keys(
        &self,
        realm: &RealmName,
        freshness: Freshness,
    ) -> Result<Arc<Keys>, KeysUnavailable> {
        self.cache.get(realm, freshness, || true, || self.fetch(realm, freshness)).await
    }
}

impl From<Busy> for KeysUnavailable {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}
