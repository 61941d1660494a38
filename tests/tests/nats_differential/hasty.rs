use async_trait::async_trait;
use mesh_core::port::Capability;
use mesh_core::topology::Topology;
use mesh_testkit::suite::{Bed, Harness, StartError};
use std::sync::Arc;
use std::time::Duration;

pub struct Hasty<H>(pub H);
#[async_trait]
impl<H: Harness> Harness for Hasty<H> {
    fn promised(&self) -> Vec<Capability> {
        self.0.promised()
    }
    async fn start(&self, topology: &Topology) -> Result<Arc<dyn Bed>, StartError> {
        self.0.start(topology).await
    }
    fn patience(&self) -> Duration {
        Duration::from_secs(3)
    }
}
