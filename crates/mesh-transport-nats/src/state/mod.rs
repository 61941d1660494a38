//! Shared state on a nats-server: the port [`KeyValue`](mesh_core::store::KeyValue) over a stream that keeps
//! the newest of each subject.

mod bucket;
pub(crate) mod failure;
mod looking;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
mod watching;
mod writing;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{CloseReport, TransportError};
use mesh_core::store::{BucketName, StoreError};
use mesh_core::topology::BucketAddress;

use crate::connect::{Source, dial};
use crate::link::deadline;
use crate::port::Owner;
use crate::{NatsOptions, close};

pub use bucket::NatsBucket;
pub use settings::{BucketSettings, BucketStorage};

/// A connection to where the gateways of one realm share what they have to remember (protocol §8).
///
/// It is one of its own, beside the gateway's connection to its backbone, and as a user of another account:
/// one that holds this realm's buckets and nobody else's. Whoever may store anything in an account can have
/// the server's confirmations sent to any subject of it, and so a bucket beside another realm's gateway
/// would be one that this gateway can write to. The account's users have the rights of
/// [`Permissions::of_gateway_state`](mesh_core::permissions::Permissions::of_gateway_state), and one
/// administrator those of `of_state_administrator`.
///
/// A lost connection is made again, as one of [`connect`](crate::connect) is. Dropped with its buckets, it
/// ends.
///
/// ```no_run
/// # async fn gateway() -> Result<(), Box<dyn std::error::Error>> {
/// use mesh_core::store::BucketName;
/// use mesh_transport_nats::{BucketSettings, NatsOptions, NatsState, Source};
///
/// let marks = BucketName::new("marks")?;
/// // Once, by an administrator:
/// let file = Source::file("/etc/mesh/state-administrator.json");
/// let administrator = NatsState::connect(file, NatsOptions::default()).await?;
/// administrator.create(&marks, BucketSettings::default()).await?;
/// // Each gateway:
/// let state = NatsState::connect(Source::file("/etc/mesh/state.json"), NatsOptions::default()).await?;
/// let marks = state.bucket(&marks).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct NatsState {
    owner: Arc<Owner>,
    timeout: Duration,
    backlog: usize,
}

impl NatsState {
    /// How long a call may take, unless told.
    pub const TIMEOUT: Duration = Duration::from_secs(5);
    /// How many changes may wait for a watcher, unless told.
    pub const BACKLOG: usize = 8192;

    /// Connects, once. A connection that is lost afterwards is made again, until it is closed.
    ///
    /// # Errors
    /// As [`connect`](crate::connect).
    pub async fn connect(
        source: impl Into<Source>,
        options: NatsOptions,
    ) -> Result<Self, TransportError> {
        let dialled = dial(source.into(), options).await?;
        Ok(Self { owner: dialled.owner, timeout: Self::TIMEOUT, backlog: Self::BACKLOG })
    }

    /// How long a call may take, with all its tries, before it is
    /// [`Unavailable`](mesh_core::store::StoreErrorKind::Unavailable). At most a minute: the server
    /// remembers for two which writings it has seen.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.min(Duration::from_secs(60));
        self
    }

    /// How many changes may wait for a watcher. Where more come, its watch ends with an error.
    #[must_use]
    pub fn with_backlog(mut self, changes: usize) -> Self {
        self.backlog = changes.max(1);
        self
    }

    /// A bucket that is there. It is looked at once: one that was made for something else is refused.
    ///
    /// # Errors
    /// `Unavailable`; `Other`, if it is not there, may not be used by this account, or would not keep the
    /// port's contract, with the setting that is wrong.
    pub async fn bucket(&self, name: &BucketName) -> Result<NatsBucket, StoreError> {
        NatsBucket::open(self, BucketAddress::of(name.clone())).await
    }

    /// Makes a bucket, as an administrator. One that is there with these settings is left as it is.
    ///
    /// # Errors
    /// `Unavailable`; `Full`, where the account has no room for it; `Other` without the right, and if one is
    /// there that has other settings, which are named.
    pub async fn create(
        &self,
        name: &BucketName,
        settings: BucketSettings,
    ) -> Result<(), StoreError> {
        settings::create(self, &BucketAddress::of(name.clone()), settings).await
    }

    /// Ends the connection for all its buckets: calls that come later are `Unavailable`, watches end with an
    /// error.
    pub async fn close(&self, timeout: Duration) -> CloseReport {
        close::close(self.owner.link(), deadline(timeout)).await
    }
}

impl fmt::Debug for NatsState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsState")
            .field("link", self.owner.link())
            .field("timeout", &self.timeout)
            .field("backlog", &self.backlog)
            .finish()
    }
}
