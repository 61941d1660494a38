use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;

use super::super::Document;

/// The document that a realm shows: replaced without a restart, when a key is added or taken away. Clones are
/// the same.
#[derive(Debug, Clone)]
pub struct Published(Arc<ArcSwap<Served>>);

/// As it goes out.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) json: Bytes,
    pub(super) cache_control: String,
}

impl Published {
    /// Shows `document`.
    #[must_use]
    pub fn new(document: &Document) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(Served::of(document))))
    }

    /// Shows another one, from the next request on.
    pub fn replace(&self, document: &Document) {
        self.0.store(Arc::new(Served::of(document)));
    }

    pub(super) fn served(&self) -> Arc<Served> {
        self.0.load_full()
    }
}

impl Served {
    fn of(document: &Document) -> Self {
        let seconds = document.max_age().as_secs();
        Self { json: document.to_json().into(), cache_control: format!("max-age={seconds}") }
    }
}
