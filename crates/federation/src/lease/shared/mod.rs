//! Leases that outlive the process, and that a realm's gateways share.
//!
//! The store holds the truth, the table a copy that follows it. A lease is kept by one gateway, which is
//! written into it; that alone listens and forwards. A gateway shows that it is there by an entry of its
//! own that ends by itself. When that is gone, the others take its leases over, each by an exchange that
//! one of them wins. A gateway that can't renew its entry stops forwarding before it ends, and comes back
//! under another name.

mod change;
mod echoes;
mod mirror;
mod presence;
mod record;

use std::sync::Arc;
use std::time::Duration;

use mesh_core::store::{KeyValue, StoreError, StoreKey, StoreKeyError};
use parking_lot::Mutex;

pub(super) use self::change::GRACE;
use self::echoes::Echoes;
use self::presence::Presence;
use super::counts::add;
use super::inner::Inner;
use super::{FederationError, LeaseLimits};
use crate::Random;
use crate::local::Task;

/// How a facade uses a shared store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct SharedOptions {
    /// What this gateway is called among those of its realm: no two at a time may have one name. A gateway
    /// that is started again under its name goes on with its leases at once; one without a name, once its
    /// former [`presence`](Self::presence) is over. None unless told.
    pub gateway: Option<String>,
    /// For how long a gateway is taken to be there without a sign of it; it gives one three times in that
    /// time. 15 s unless told. The events of a gateway that is killed are lost for that long, and its sinks
    /// told.
    pub presence: Duration,
    /// How long a lease that has ended may stay in the store, so that a gateway that comes back can tell
    /// its sink. An hour unless told.
    pub keep_ended: Duration,
}

impl Default for SharedOptions {
    fn default() -> Self {
        Self {
            gateway: None,
            presence: Duration::from_secs(15),
            keep_ended: Duration::from_secs(3600),
        }
    }
}

/// The store, and this gateway among those that share it.
pub(super) struct Shared {
    store: Arc<dyn KeyValue>,
    options: SharedOptions,
    limits: LeaseLimits,
    random: Arc<dyn Random>,
    name: String,
    presence_key: StoreKey,
    presence: Mutex<Presence>,
    echoes: Mutex<Echoes>,
}

const GATEWAY: &str = "gateway.";
const LEASE: &str = "lease.";

impl Shared {
    pub(super) fn new(
        store: Arc<dyn KeyValue>,
        options: SharedOptions,
        random: Arc<dyn Random>,
        limits: LeaseLimits,
    ) -> Result<Self, StoreKeyError> {
        let name = options.gateway.clone().unwrap_or_else(|| random.id());
        // A name with a dot could be another's and an epoch.
        if let Some(offset) = name.find('.') {
            return Err(StoreKeyError::Character { found: '.', offset });
        }
        let presence_key = StoreKey::new(format!("{GATEWAY}{name}"))?;
        let presence = Mutex::new(Presence::new(random.id()));
        let echoes = Mutex::default();
        Ok(Self { store, options, limits, random, name, presence_key, presence, echoes })
    }

    /// Shows that this gateway is there, reads what there is, takes over what nobody keeps. The tasks go on
    /// with that.
    pub(super) async fn start(inner: &Arc<Inner>) -> Result<Vec<Task>, FederationError> {
        let Some(shared) = &inner.shared else {
            return Ok(Vec::new());
        };
        shared.appear(inner).await?;
        let changes = shared.catch_up(inner).await?;
        Ok(vec![
            Task::spawn(presence::stay(Arc::clone(inner))),
            Task::spawn(mirror::follow(Arc::clone(inner), changes)),
        ])
    }

    /// What a call of the store came to; a failure is counted.
    fn told<T>(&self, inner: &Inner, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &result {
            add(&inner.counts.store_failures, 1);
            tracing::warn!(%error, "the store of leases failed");
        }
        result
    }
}
