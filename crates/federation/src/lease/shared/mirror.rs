use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use mesh_core::store::{Change, Changes, Entry, StoreError, StoreErrorKind, StoreKey};
use mesh_core::time::Backoff;

use super::super::counts::add;
use super::super::inner::Inner;
use super::super::{EndReason, LeaseId};
use super::change::Known;
use super::record::Standing;
use super::{GATEWAY, Shared, record};

const PAUSES: Backoff = Backoff { min: Duration::from_millis(100), max: Duration::from_secs(10) };

/// How many leases are taken over at a time.
const TOGETHER: usize = 32;

impl Shared {
    /// Reads all that the store has, and takes over what nobody keeps.
    pub(super) async fn catch_up(&self, inner: &Arc<Inner>) -> Result<Changes, StoreError> {
        let mut changes = self.told(inner, self.store.watch().await)?;
        self.echoes.lock().clear();
        let mut seen = HashSet::new();
        loop {
            let change = changes.next().await.unwrap_or_else(|| Err(ended()));
            match self.told(inner, change)? {
                Change::Written(key, entry) => {
                    seen.extend(record::id(&key));
                    self.written(inner, &key, &entry).await?;
                }
                Change::Removed(key) => {
                    if let Some(id) = record::id(&key) {
                        seen.remove(&id);
                    }
                }
                Change::Caught => break,
            }
        }
        // What ended while nobody watched.
        let known: Vec<LeaseId> =
            inner.state.lock().table.page(0, usize::MAX).map(|(_, lease)| lease.id()).collect();
        for id in known.into_iter().filter(|id| !seen.contains(id)) {
            self.removed(inner, id).await?;
        }
        self.adopt_all(inner).await;
        Ok(changes)
    }

    async fn written(
        &self,
        inner: &Arc<Inner>,
        key: &StoreKey,
        entry: &Entry,
    ) -> Result<(), StoreError> {
        let Some(id) = record::id(key) else {
            return Ok(());
        };
        match record::read(&inner.realm, id, entry, &self.limits, inner.now()) {
            Ok(_) if self.echoes.lock().is_echo(id, entry.revision.0) => {}
            Ok(Standing::Released(lease)) => self.bury(inner, &lease).await?,
            Ok(Standing::Lease(lease)) => {
                self.apply(inner, &lease);
                // Another may keep it now.
                inner.tidy(&lease.source);
            }
            Err(why) => {
                add(&inner.counts.unreadable, 1);
                tracing::warn!(%key, %why);
            }
        }
        Ok(())
    }

    /// A lease of the table is not in the store any more, or was not a moment ago.
    async fn removed(&self, inner: &Arc<Inner>, id: LeaseId) -> Result<(), StoreError> {
        if inner.state.lock().table.lease(id).is_none() {
            return Ok(());
        }
        match self.known(inner, id).await? {
            Known::Lease(lease) => self.apply(inner, &lease),
            Known::Released(lease) => self.bury(inner, &lease).await?,
            Known::Unreadable(_) => {}
            Known::Nothing => {
                let lease = inner.state.lock().table.remove(id);
                let Some(lease) = lease else {
                    return Ok(());
                };
                // Ended early it was ended by its owner, or by who has told its sink.
                if lease.is_over(inner.now()) && lease.keeper == self.keeper() {
                    inner.ended(&lease, EndReason::Expired);
                } else {
                    inner.tidy(&lease.source);
                }
            }
        }
        Ok(())
    }

    /// Takes over the leases of all gateways that are gone.
    pub(super) async fn adopt_all(&self, inner: &Arc<Inner>) {
        let keepers: Vec<String> =
            inner.state.lock().table.keepers().map(ToString::to_string).collect();
        for keeper in keepers {
            let there = self.is_there(&keeper).await;
            if !matches!(self.told(inner, there), Ok(false)) {
                continue;
            }
            let left: Vec<LeaseId> = inner.state.lock().table.kept_by(&keeper).collect();
            if left.is_empty() {
                continue;
            }
            tracing::warn!(leases = left.len(), "a gateway is gone: its leases are taken over");
            let adopt = |id| self.adopt(inner, id, &keeper);
            stream::iter(left).for_each_concurrent(TOGETHER, adopt).await;
        }
    }

    async fn changed(&self, inner: &Arc<Inner>, change: Change) -> Result<(), StoreError> {
        match change {
            Change::Written(key, entry) => self.written(inner, &key, &entry).await?,
            Change::Removed(key) if key.as_str().starts_with(GATEWAY) => {
                self.adopt_all(inner).await;
            }
            Change::Removed(key) => {
                if let Some(id) = record::id(&key) {
                    self.echoes.lock().removal_told(id);
                    self.removed(inner, id).await?;
                }
            }
            Change::Caught => {}
        }
        Ok(())
    }

    async fn followed(&self, inner: &Arc<Inner>, changes: &mut Changes) -> Result<(), StoreError> {
        loop {
            let change = changes.next().await.unwrap_or_else(|| Err(ended()));
            self.changed(inner, self.told(inner, change)?).await?;
        }
    }
}

/// Follows the store, and watches anew when it is left behind or the store was away.
pub(super) async fn follow(inner: Arc<Inner>, mut changes: Changes) {
    let Some(shared) = &inner.shared else {
        return;
    };
    let mut attempt = 0;
    loop {
        // It ends with an error alone.
        let _ = shared.followed(&inner, &mut changes).await;
        loop {
            inner.clock.sleep(PAUSES.longest(attempt)).await;
            attempt += 1;
            if let Ok(again) = shared.catch_up(&inner).await {
                changes = again;
                attempt = 0;
                break;
            }
        }
    }
}

fn ended() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "the watch ended")
}
