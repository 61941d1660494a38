use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use mesh_core::name::RealmName;

use super::Keys;
use crate::Freshness;

/// Where other realms' keys come from.
#[async_trait]
pub trait KeySource: Send + Sync + fmt::Debug {
    /// The keys of `realm`. With [`Freshness::Anew`] a token named a key that is not among those kept: the
    /// realm may have changed its keys. How often that makes somebody ask again is the source's to limit,
    /// since any stranger can name a key that is none.
    ///
    /// # Errors
    /// [`KeysUnavailable`]: then nothing proves this realm.
    async fn keys(
        &self,
        realm: &RealmName,
        freshness: Freshness,
    ) -> Result<Arc<Keys>, KeysUnavailable>;
}

/// Why a realm's keys can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeysUnavailable {
    /// Nobody has configured any for this realm.
    #[error("no keys are known of this realm")]
    Unknown,
    /// They could not be fetched; the text says why, and holds none of the other side's.
    #[error("the realm's keys can't be fetched: {0}")]
    Fetch(String),
    /// What was fetched is no JWKS.
    #[error("the realm's keys can't be read: {0}")]
    Keys(#[from] super::KeysError),
    /// Too much is being fetched as it is.
    #[error("too many keys are being fetched")]
    Busy,
}

/// Keys from the configuration, changed only by a new one.
#[derive(Debug, Clone, Default)]
pub struct StaticKeys(HashMap<RealmName, Arc<Keys>>);

impl StaticKeys {
    /// No realm's.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with the keys of one realm more.
    #[must_use]
    pub fn with(mut self, realm: RealmName, keys: Keys) -> Self {
        self.0.insert(realm, Arc::new(keys));
        self
    }
}

#[async_trait]
impl KeySource for StaticKeys {
    async fn keys(&self, realm: &RealmName, _: Freshness) -> Result<Arc<Keys>, KeysUnavailable> {
        self.0.get(realm).cloned().ok_or(KeysUnavailable::Unknown)
    }
}

/// The first that knows the realm answers: keys from the configuration before those that are found, say.
#[async_trait]
impl<A: KeySource, B: KeySource> KeySource for (A, B) {
    async fn keys(
        &self,
        realm: &RealmName,
        freshness: Freshness,
    ) -> Result<Arc<Keys>, KeysUnavailable> {
        match self.0.keys(realm, freshness).await {
            Err(KeysUnavailable::Unknown) => self.1.keys(realm, freshness).await,
            known => known,
        }
    }
}

#[async_trait]
impl<S: KeySource + ?Sized> KeySource for Arc<S> {
    async fn keys(
        &self,
        realm: &RealmName,
        freshness: Freshness,
    ) -> Result<Arc<Keys>, KeysUnavailable> {
        (**self).keys(realm, freshness).await
    }
}
