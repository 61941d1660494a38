use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::name::RealmName;

use super::{Document, Egress, Resolver, Roots, SystemResolver};

/// What a [`Discovery`](super::Discovery) may do, and how much.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiscoveryOptions {
    /// What may be connected to.
    pub egress: Egress,
    /// Who knows the addresses of names.
    pub resolver: Arc<dyn Resolver>,
    /// Whose certificates are trusted.
    pub roots: Roots,
    /// How long a connection may take to come about. 2 s unless told.
    pub connect_timeout: Duration,
    /// How long a document, a set of keys, or a message may take in all. 5 s unless told.
    pub timeout: Duration,
    /// Realms whose document or answer is kept. 1,024 unless told.
    pub realms: NonZeroUsize,
    /// Realms that are asked at once. 16 unless told.
    pub at_once: usize,
    /// Callers that wait for documents at once, in all and for one realm. 1,024 and 256 unless told.
    pub waiting: (usize, usize),
    /// How long a document is kept at least and at most, whatever it says. 1 min and 24 h unless told.
    pub kept: (Duration, Duration),
    /// How long a failure is remembered. 30 s unless told.
    pub failed: Duration,
    /// How long a realm that has answered is not asked again. 30 s unless told.
    pub again: Duration,
    /// How many realms that are not in the table may be asked, at once and one more each: names of realms
    /// are invented by strangers. 50 and 100 ms unless told.
    pub strangers: (u32, Duration),
    /// How long an endpoint that failed is not tried again. 5 s unless told.
    pub back_off: Duration,
    pub(super) table: HashMap<RealmName, Place>,
}

/// Where a configured realm's document is.
#[derive(Debug, Clone)]
pub(super) enum Place {
    At(String),
    Known(Arc<Document>),
}

impl DiscoveryOptions {
    /// The same with a realm whose document is at this URL.
    #[must_use]
    pub fn at(mut self, realm: RealmName, url: impl Into<String>) -> Self {
        self.table.insert(realm, Place::At(url.into()));
        self
    }

    /// The same with a realm that is never asked, since this is what it would say.
    #[must_use]
    pub fn known(mut self, document: Document) -> Self {
        self.table.insert(document.realm().clone(), Place::Known(Arc::new(document)));
        self
    }
}

impl Default for DiscoveryOptions {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            egress: Egress::public(),
            resolver: Arc::new(SystemResolver::default()),
            roots: Roots::default(),
            connect_timeout: seconds(2),
            timeout: seconds(5),
            realms: NonZeroUsize::MIN.saturating_add(1023),
            at_once: 16,
            waiting: (1024, 256),
            kept: (seconds(60), seconds(24 * 3600)),
            failed: seconds(30),
            again: seconds(30),
            strangers: (50, Duration::from_millis(100)),
            back_off: seconds(5),
            table: HashMap::new(),
        }
    }
}
