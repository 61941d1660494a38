use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mesh_core::guard::Now;
use mesh_core::store::{Expected, Revision, StoreError, StoreKey, Written};
use serde::{Deserialize, Serialize};

use super::super::inner::{Inner, State};
use super::{GATEWAY, Shared};

/// Under which name this gateway keeps leases, and until when it may.
#[derive(Debug)]
pub(super) struct Presence {
    epoch: String,
    /// The latest writing of its entry.
    revision: Option<Revision>,
    /// On the monotonic clock. Counted from before the writing, so that it is over here first.
    until: Duration,
}

#[derive(Serialize, Deserialize)]
struct Sign {
    v: u8,
    epoch: String,
}

impl Presence {
    pub(super) fn new(epoch: String) -> Self {
        Self { epoch, revision: None, until: Duration::ZERO }
    }
}

impl Shared {
    /// The name under which this gateway keeps leases: its own, and what tells this run from others.
    pub(in super::super) fn keeper(&self) -> String {
        format!("{}.{}", self.name, self.presence.lock().epoch)
    }

    /// Whether this gateway can rely on being taken for present.
    pub(in super::super) fn is_present(&self, now: Now) -> bool {
        now.monotonic < self.presence.lock().until
    }

    /// Whether that gateway is there. Asked of the store, not of what was heard: one that has just come
    /// may not have been heard of.
    pub(super) async fn is_there(&self, keeper: &str) -> Result<bool, StoreError> {
        if keeper == self.keeper() {
            return Ok(true);
        }
        let Some((name, epoch)) = keeper.rsplit_once('.') else {
            return Ok(false);
        };
        let Ok(key) = StoreKey::new(format!("{GATEWAY}{name}")) else {
            return Ok(false);
        };
        let entry = self.store.read(&key).await?;
        Ok(entry.is_some_and(|entry| {
            let sign = serde_json::from_slice::<Sign>(&entry.value);
            sign.is_ok_and(|sign| sign.epoch == epoch)
        }))
    }

    /// Shows that it is there, under a name that nobody has kept anything under.
    pub(super) async fn appear(&self, inner: &Arc<Inner>) -> Result<(), StoreError> {
        let epoch = self.random.id();
        let began = inner.clock.monotonic();
        let written = self.sign(&epoch, Expected::Any).await;
        if let Written::Done(revision) = self.told(inner, written)? {
            *self.presence.lock() = Presence {
                epoch,
                revision: Some(revision),
                until: began.saturating_add(self.options.presence),
            };
        }
        let mut state = inner.state.lock();
        let State { table, hearings } = &mut *state;
        table.rename(&self.keeper());
        hearings.tidy_all(table);
        Ok(())
    }

    /// Shows that it is still there. `false`: it was not any more, or another has its name.
    async fn renew(&self, inner: &Arc<Inner>) -> Result<bool, StoreError> {
        let began = inner.clock.monotonic();
        let (epoch, revision) = {
            let presence = self.presence.lock();
            if presence.until <= began {
                return Ok(false);
            }
            (presence.epoch.clone(), presence.revision)
        };
        let expected = revision.map_or(Expected::Absent, Expected::Revision);
        let written = self.sign(&epoch, expected).await;
        let Written::Done(revision) = self.told(inner, written)? else {
            return Ok(false);
        };
        let mut presence = self.presence.lock();
        presence.revision = Some(revision);
        presence.until = began.saturating_add(self.options.presence);
        Ok(true)
    }

    async fn sign(&self, epoch: &str, expected: Expected) -> Result<Written, StoreError> {
        let sign = Sign { v: 1, epoch: epoch.to_owned() };
        let value: Bytes = serde_json::to_vec(&sign).unwrap_or_default().into();
        self.store.write(&self.presence_key, value, self.options.presence, expected).await
    }

    /// Leaves the realm's leases to the other gateways.
    pub(in super::super) async fn leave(&self, inner: &Arc<Inner>) {
        let revision = {
            let mut presence = self.presence.lock();
            presence.until = Duration::ZERO;
            presence.revision.take()
        };
        if revision.is_some() {
            let removed = self.store.remove(&self.presence_key, revision).await;
            // If that fails it ends by itself.
            let _ = self.told(inner, removed);
        }
    }
}

/// Renews the entry, three times in its life. Where it can't, it comes back as another once it can.
pub(super) async fn stay(inner: Arc<Inner>) {
    let Some(shared) = &inner.shared else {
        return;
    };
    let third = shared.options.presence / 3;
    loop {
        inner.clock.sleep(third).await;
        let there = match shared.renew(&inner).await {
            Ok(false) => {
                tracing::warn!("this gateway was not seen for too long: it begins anew");
                shared.appear(&inner).await.is_ok()
            }
            renewed => renewed.is_ok(),
        };
        if there {
            // Also what an earlier try has left.
            shared.adopt_all(&inner).await;
        }
    }
}
