use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::Capability;
use mesh_core::topology::Topology;
use parking_lot::Mutex;

use super::{Bed, Failure, Harness, Scene};

/// What a case is given: the harness, and the beds it started, which are stopped after it.
pub(crate) struct Stage<'a> {
    harness: &'a dyn Harness,
    beds: Mutex<Vec<Arc<dyn Bed>>>,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(harness: &'a dyn Harness) -> Self {
        Self { harness, beds: Mutex::default() }
    }

    pub(crate) fn promised(&self) -> Vec<Capability> {
        self.harness.promised()
    }

    pub(crate) fn has(&self, capability: Capability) -> bool {
        self.harness.promised().contains(&capability)
    }

    pub(crate) fn span(&self) -> Duration {
        self.harness.span()
    }

    /// A fresh bed.
    pub(crate) async fn start(&self, topology: &Topology) -> Result<Scene, Failure> {
        let started = self.harness.start(topology).await;
        let bed = started.map_err(|error| Failure::new(format!("no broker: {error}")))?;
        self.beds.lock().push(Arc::clone(&bed));
        Ok(Scene::new(bed, topology.clone(), self.span(), self.harness.patience()))
    }

    /// A fresh bed for live messages.
    pub(crate) async fn live(&self) -> Result<Scene, Failure> {
        self.start(&Topology::new()).await
    }

    pub(crate) async fn end(&self) {
        let beds = std::mem::take(&mut *self.beds.lock());
        for bed in beds {
            // A broker that doesn't stop must not hide the outcome of its case.
            let _ = tokio::time::timeout(self.harness.patience(), bed.stop()).await;
        }
    }
}
