//! Choosing what a flow is tried on, from the mesh's files.

use mesh_core::identity::Instance;
use mesh_core::name::{ConsumerName, EventName};
use mesh_core::port::ConsumerRef;
use mesh_core::topology::StreamName;

use super::raise::Raised;

impl Raised {
    /// The event number `index` of those that somebody consumes (the last, if there are fewer):
    /// who emits it, its name, and who consumes it.
    pub(crate) fn a_consumed_event(
        &self,
        index: usize,
    ) -> Option<(Instance, EventName, Vec<Instance>)> {
        let mut found = Vec::new();
        for emitter in self.mesh.instances() {
            let Some(module) = self.mesh.module(&emitter.module) else {
                continue;
            };
            for event in &module.manifest.emits {
                let consumers: Vec<Instance> =
                    self.mesh.consumers_of(&emitter.module, event).collect();
                if !consumers.is_empty() {
                    found.push((emitter.clone(), event.clone(), consumers));
                }
            }
        }
        let index = index.min(found.len().checked_sub(1)?);
        Some(found.swap_remove(index))
    }

    /// How many tries a consumer has.
    pub(crate) fn tries(&self, consumer: &Instance) -> u32 {
        let name = ConsumerName::of_module(&consumer.node, &consumer.module);
        let reference = ConsumerRef::new(StreamName::Events, name);
        let spec = self.topology.consumer(&reference);
        spec.and_then(|spec| spec.rules.max_deliver).unwrap_or(u32::MAX)
    }
}
