use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use lru::LruCache;
use mesh_core::name::RealmName;
use parking_lot::Mutex;
use url::Url;

use super::{Discovery, DiscoveryError, EndpointKind, FetchError};
use crate::{Direct, DirectError, DirectErrorKind, Freshness};

/// The direct way over HTTPS: an envelope is posted to the first endpoint of the realm's document that
/// may be connected to.
///
/// | what happens | told as |
/// |---|---|
/// | status 2xx | taken |
/// | no document, no endpoint, or one that failed a moment ago | [`NoWay`](DirectErrorKind::NoWay) |
/// | 413 | [`TooLarge`](DirectErrorKind::TooLarge) |
/// | no address, no connection, no trusted TLS, 3xx, other 4xx, 503 | [`Failed`](DirectErrorKind::Failed) |
/// | other 5xx, no answer in time, a connection that broke | [`InDoubt`](DirectErrorKind::InDoubt) |
///
/// After a failure the realm has no direct way for
/// [`back_off`](super::DiscoveryOptions::back_off); 1,024 realms are remembered.
#[derive(Debug)]
pub struct HttpsDirect {
    discovery: Arc<Discovery>,
    down: Mutex<LruCache<RealmName, Duration>>,
}

impl HttpsDirect {
    /// The way to the realms that `discovery` finds.
    #[must_use]
    pub fn new(discovery: Arc<Discovery>) -> Self {
        let down = Mutex::new(LruCache::new(NonZeroUsize::MIN.saturating_add(1023)));
        Self { discovery, down }
    }

    fn is_down(&self, realm: &RealmName) -> bool {
        let now = self.discovery.clock().monotonic();
        let mut down = self.down.lock();
        let until = down.get(realm).copied();
        if until.is_some_and(|until| until <= now) {
            down.pop(realm);
        }
        until.is_some_and(|until| now < until)
    }

    fn is_down_now(&self, realm: &RealmName) {
        let until = self.discovery.clock().monotonic().saturating_add(self.discovery.back_off);
        self.down.lock().put(realm.clone(), until);
    }

    async fn endpoint(&self, realm: &RealmName) -> Result<Url, DirectError> {
        let no_way =
            |error: DiscoveryError| DirectError::new(DirectErrorKind::NoWay).caused_by(error);
        let document = self.discovery.document(realm, Freshness::Kept).await.map_err(no_way)?;
        let mut refused = None;
        for url in document.endpoints(EndpointKind::Https) {
            match self.discovery.http().allowed(url) {
                Ok(url) => return Ok(url),
                Err(error) => refused = Some(error),
            }
        }
        let error = DirectError::new(DirectErrorKind::NoWay).detail("no endpoint");
        Err(match refused {
            Some(refused) => error.caused_by(refused),
            None => error,
        })
    }
}

#[async_trait]
impl Direct for HttpsDirect {
    async fn send(&self, realm: &RealmName, envelope: Bytes) -> Result<(), DirectError> {
        if self.is_down(realm) {
            return Err(DirectError::new(DirectErrorKind::NoWay).detail("it failed a moment ago"));
        }
        let url = self.endpoint(realm).await?;
        let Err(error) = self.discovery.http().post(&url, envelope).await else {
            return Ok(());
        };
        let kind = kind(&error);
        if kind != DirectErrorKind::TooLarge {
            self.is_down_now(realm);
        }
        Err(DirectError::new(kind).caused_by(error))
    }
}

fn kind(error: &FetchError) -> DirectErrorKind {
    match error {
        FetchError::Status(413) => DirectErrorKind::TooLarge,
        // 503 is said by an endpoint that has no room, and it says so before it takes anything.
        FetchError::Status(503) => DirectErrorKind::Failed,
        FetchError::Status(500..) => DirectErrorKind::InDoubt,
        error if error.is_certain() => DirectErrorKind::Failed,
        _ => DirectErrorKind::InDoubt,
    }
}
