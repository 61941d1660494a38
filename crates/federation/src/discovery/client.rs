use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use mesh_core::name::RealmName;
use mesh_core::port::Clock;

use super::egress::{Http, HttpLimits};
use super::options::Place;
use super::{DiscoveryOptions, Document, DocumentError, EgressError, FetchError, document, place};
use crate::Freshness;
use crate::cache::{Budget, Busy, Cache, Limits};

/// Finds realms: reads their MXDISC/1 documents over HTTPS, and keeps them for as long as they say.
///
/// A realm whose name is one of DNS, in lower case, is asked at `https://<realm>/.well-known/mx`; any other
/// has to be in the table of [`DiscoveryOptions`]. What is connected to is limited by
/// [`Egress`](super::Egress); redirects and proxies of the environment are not followed. A document must name
/// the realm that was asked for. Each realm is asked once at a time; failures are remembered too.
///
/// Limits on time for the network are measured by the runtime, not by the clock that is passed in, which says
/// how long things are kept.
///
/// ```
/// # use std::sync::Arc;
/// use mesh_core::name::RealmName;
/// use mesh_federation::Freshness;
/// use mesh_federation::discovery::{Discovery, DiscoveryOptions, Document, EndpointKind, Roots};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let authority = rcgen::generate_simple_self_signed(["x".to_owned()])?.cert.pem();
/// let shop = RealmName::new("shop")?; // no name of DNS, so somebody has to say where it is
/// let document = Document::new(shop.clone()).with_endpoint("https://shop.example/mx/1/in");
/// let mut options = DiscoveryOptions::default().known(document);
/// options.roots = Roots::pem(authority);
///
/// let discovery = Discovery::new(options, Arc::new(mesh_clock::SystemClock::new()))?;
/// let document = discovery.document(&shop, Freshness::Kept).await?;
/// let endpoint = document.endpoints(EndpointKind::Https).next();
/// assert_eq!(endpoint, Some("https://shop.example/mx/1/in"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Discovery {
    clock: Arc<dyn Clock>,
    cache: Cache<Document, DiscoveryError>,
    table: HashMap<RealmName, Place>,
    strangers: Budget,
    http: Http,
    pub(super) back_off: std::time::Duration,
}

/// Why there is no [`Discovery`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// No certificate to trust, or one that is none.
    #[error("no certificates to trust, or one that can't be read")]
    Roots,
    /// A URL of the table is not allowed.
    #[error("the place of {realm} is not allowed: {error}")]
    Place {
        /// Whose.
        realm: RealmName,
        /// Why.
        error: EgressError,
    },
    /// TLS could not be set up.
    #[error("TLS can't be set up")]
    Tls,
}

/// Why nothing is known of a realm. It holds no text of the other side's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// Its name is none of DNS, and it is not in the table.
    #[error("nobody knows where this realm is")]
    Unmapped,
    /// It could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// What was fetched is no document.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The document is another realm's.
    #[error("the document is of another realm")]
    WrongRealm,
    /// Keys that are no text.
    #[error("keys that are no UTF-8")]
    NoText,
    /// Too many realms are being asked.
    #[error("too many realms are being asked")]
    Busy,
}

impl Discovery {
    /// A reader of documents that keeps them by `clock`. It reads the trusted certificates: call it at the
    /// start.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(options: DiscoveryOptions, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        for (realm, place) in &options.table {
            if let Place::At(url) = place {
                let place = |error| SetupError::Place { realm: realm.clone(), error };
                options.egress.check(url).map_err(place)?;
            }
        }
        let limits = HttpLimits {
            connect: options.connect_timeout,
            total: options.timeout,
            bytes: document::MAX_BYTES,
        };
        let http = Http::new(options.egress, options.resolver, options.roots.store()?, limits)
            .map_err(|_| SetupError::Tls)?;
        let limits = Limits {
            realms: options.realms,
            flights: options.at_once,
            waiting: options.waiting,
            kept: options.kept,
            failed: options.failed,
            again: options.again,
        };
        let (most, each) = options.strangers;
        Ok(Self {
            cache: Cache::new(Arc::clone(&clock), limits),
            clock,
            table: options.table,
            strangers: Budget::new(most, each),
            http,
            back_off: options.back_off,
        })
    }

    /// The document of `realm`: the one that is kept, or a new one.
    ///
    /// # Errors
    /// [`DiscoveryError`]; for a while the same one again, without asking.
    pub async fn document(
        &self,
        realm: &RealmName,
        freshness: Freshness,
    ) -> Result<Arc<Document>, DiscoveryError> {
        let (url, configured) = match self.table.get(realm) {
            Some(Place::Known(document)) => return Ok(Arc::clone(document)),
            Some(Place::At(url)) => (url.clone(), true),
            None => (place::well_known(realm).ok_or(DiscoveryError::Unmapped)?, false),
        };
        let fetch = || async move {
            let document = Document::from_slice(&self.http.get(&url).await?)?;
            if document.realm() != realm {
                return Err(DiscoveryError::WrongRealm);
            }
            let max_age = document.max_age();
            Ok((document, max_age))
        };
        let allow = || configured || self.strangers.take(self.clock.monotonic());
        self.cache.get(realm, freshness, allow, fetch).await
    }

    /// The text at a document's `jwksUri`. It is not kept here.
    ///
    /// # Errors
    /// [`DiscoveryError`].
    pub async fn jwks(&self, uri: &str) -> Result<String, DiscoveryError> {
        let bytes = self.http.get(uri).await?;
        String::from_utf8(bytes.into()).map_err(|_| DiscoveryError::NoText)
    }

    /// What was kept and fetched, by name.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        self.cache.figures()
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub(super) const fn http(&self) -> &Http {
        &self.http
    }
}

impl From<Busy> for DiscoveryError {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

impl fmt::Debug for Discovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovery").field("http", &self.http).finish_non_exhaustive()
    }
}
