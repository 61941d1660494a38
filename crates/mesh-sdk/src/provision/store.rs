use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use async_trait::async_trait;
use mesh_core::provision::{Granted, ProvisionKey};
use parking_lot::Mutex;

/// Remembers what was granted, so that a repeat is answered with the same (protocol §6). It holds secrets:
/// one that writes them down seals them, and no error of it has one in it, since those are sent on.
///
/// A provider asks for one key at a time. Other processes that provide the same may ask at the same time.
#[async_trait]
pub trait GrantStore: Send + Sync + fmt::Debug {
    /// What was granted under this key, if anything.
    ///
    /// # Errors
    /// When it can't say: nothing is granted then.
    async fn look_up(&self, key: &ProvisionKey) -> Result<Option<Granted>, String>;

    /// Keeps it, unless something is kept under this key already; gives what is kept.
    ///
    /// # Errors
    /// When it could not be kept: it is not handed out then.
    async fn record(&self, key: &ProvisionKey, granted: Granted) -> Result<Granted, String>;

    /// Forgets what is kept under this key, if anything.
    ///
    /// # Errors
    /// When it could not be forgotten: nothing is withdrawn then.
    async fn forget(&self, key: &ProvisionKey) -> Result<(), String>;
}

/// Remembers in memory, while the process lives: 10,000 grants unless told. More are refused.
pub struct MemoryGrants {
    grants: Mutex<HashMap<ProvisionKey, Granted>>,
    most: usize,
}

impl MemoryGrants {
    /// Room for so many.
    #[must_use]
    pub fn with_room(most: usize) -> Self {
        Self { grants: Mutex::default(), most }
    }

    /// How many it remembers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.grants.lock().len()
    }

    /// Whether it remembers none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for MemoryGrants {
    fn default() -> Self {
        Self::with_room(10_000)
    }
}

#[async_trait]
impl GrantStore for MemoryGrants {
    async fn look_up(&self, key: &ProvisionKey) -> Result<Option<Granted>, String> {
        Ok(self.grants.lock().get(key).cloned())
    }

    async fn record(&self, key: &ProvisionKey, granted: Granted) -> Result<Granted, String> {
        let mut grants = self.grants.lock();
        let kept = grants.len();
        match grants.entry(key.clone()) {
            Entry::Occupied(kept) => Ok(kept.get().clone()),
            Entry::Vacant(_) if kept >= self.most => {
                Err(format!("{kept} grants are remembered, and there is room for no more"))
            }
            Entry::Vacant(free) => Ok(free.insert(granted).clone()),
        }
    }

    async fn forget(&self, key: &ProvisionKey) -> Result<(), String> {
        self.grants.lock().remove(key);
        Ok(())
    }
}

impl fmt::Debug for MemoryGrants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryGrants")
            .field("len", &self.len())
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}
