//! Choosing what a flow is tried on, from the mesh's files.

use mesh_core::identity::Instance;
use mesh_core::manifest::{Access, ModuleManifest, ToolRef};
use mesh_core::name::{ConsumerName, EventName};
use mesh_core::topology::{ConsumerRef, StreamName};
use mesh_sdk::{Asking, Broker};

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

    /// The tools that somebody serves.
    pub(crate) fn served(&self) -> Vec<ToolRef> {
        let running = self.mesh.modules().filter(|module| !module.nodes.is_empty());
        running.flat_map(|module| tools_of(&module.manifest)).collect()
    }

    /// Everybody, and the tools that they are granted: of an administrator's, who is granted all,
    /// the first of each module.
    pub(crate) fn grants(&self) -> Vec<(Broker<Asking>, Vec<ToolRef>)> {
        let modules = self.modules.iter().filter_map(|(instance, broker)| {
            let module = self.mesh.module(&instance.module)?;
            Some((broker.only(), module.manifest.calls.clone()))
        });
        let people = self.mesh.people().filter_map(|(name, access)| {
            let tools = match access {
                Access::Tools(tools) => tools.clone(),
                Access::Administrator => {
                    let modules = self.mesh.modules();
                    modules.filter_map(|module| tools_of(&module.manifest).next()).collect()
                }
            };
            Some((self.people.get(name)?.clone(), tools))
        });
        modules.chain(people).collect()
    }

    /// Somebody who may call every tool.
    pub(crate) fn administrator(&self) -> Option<&Broker<Asking>> {
        let mut people = self.mesh.people();
        let (name, _) = people.find(|(_, access)| **access == Access::Administrator)?;
        self.people.get(name)
    }

    /// How many tries a consumer has.
    pub(crate) fn tries(&self, consumer: &Instance) -> u32 {
        let name = ConsumerName::of_module(&consumer.node, &consumer.module);
        let reference = ConsumerRef::new(StreamName::Events, name);
        let spec = self.topology.consumer(&reference);
        spec.and_then(|spec| spec.rules.max_deliver).unwrap_or(u32::MAX)
    }
}

fn tools_of(manifest: &ModuleManifest) -> impl Iterator<Item = ToolRef> {
    let tools = manifest.tools.iter();
    tools.map(|tool| ToolRef { module: manifest.name.clone(), tool: tool.name.clone() })
}
