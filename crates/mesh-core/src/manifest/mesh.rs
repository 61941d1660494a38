use std::collections::BTreeMap;

use super::{
    Access, Bus, MeshFile, ModuleManifest, Problem, Provision, Requirement, Tool, ToolRef,
};
use crate::identity::Instance;
use crate::identity::Principal;
use crate::name::{EventName, ModuleName, NodeName, PersonName, ProvisionName};
use crate::provision::is_reserved_tool;

/// A mesh whose files agree with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mesh {
    pub(super) file: MeshFile,
    pub(super) nodes: Vec<NodeName>,
    pub(super) modules: BTreeMap<ModuleName, AssignedModule>,
    pub(super) people: BTreeMap<PersonName, Access>,
    pub(super) bus: Bus,
    pub(super) warnings: Vec<Problem>,
}

/// A module and where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssignedModule {
    /// What it says about itself.
    pub manifest: ModuleManifest,
    /// The nodes that run it; none, where it runs nowhere.
    pub nodes: Vec<NodeName>,
}

impl Mesh {
    /// The file that it was made of.
    #[must_use]
    pub fn file(&self) -> &MeshFile {
        &self.file
    }

    /// The nodes, in the file's order.
    #[must_use]
    pub fn nodes(&self) -> &[NodeName] {
        &self.nodes
    }

    /// The modules, by name; those that run nowhere too.
    pub fn modules(&self) -> impl ExactSizeIterator<Item = &AssignedModule> {
        self.modules.values()
    }

    /// The module of this name.
    #[must_use]
    pub fn module(&self, name: &ModuleName) -> Option<&AssignedModule> {
        self.modules.get(name)
    }

    /// The people, by name.
    pub fn people(&self) -> impl ExactSizeIterator<Item = (&PersonName, &Access)> {
        self.people.iter()
    }

    /// The server that carries it, and how its accounts are made.
    #[must_use]
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// What may not be meant.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// Everything that runs: each module on each of its nodes.
    pub fn instances(&self) -> impl Iterator<Item = Instance> {
        self.modules.values().flat_map(|module| {
            module
                .nodes
                .iter()
                .map(|node| Instance { node: node.clone(), module: module.manifest.name.clone() })
        })
    }

    /// Who gets this event of `module`: one copy for each of them.
    pub fn consumers_of<'a>(
        &'a self,
        module: &'a ModuleName,
        event: &'a EventName,
    ) -> impl Iterator<Item = Instance> + 'a {
        self.instances().filter(move |instance| {
            let consumes = |found: &AssignedModule| {
                let mut patterns = found.manifest.consumes.iter();
                patterns.any(|pattern| pattern.matches(module, event))
            };
            self.module(&instance.module).is_some_and(consumes)
        })
    }

    /// The tool, whether or not it is served anywhere.
    #[must_use]
    pub fn tool(&self, tool: &ToolRef) -> Option<&Tool> {
        self.module(&tool.module)?.manifest.tool(&tool.tool)
    }

    /// Whether some node runs the module with this tool.
    #[must_use]
    pub fn is_served(&self, tool: &ToolRef) -> bool {
        let runs = self.module(&tool.module).is_some_and(|found| !found.nodes.is_empty());
        runs && self.tool(tool).is_some()
    }

    /// Whether `caller` is granted a call of `tool`: a module what its `calls` lists, a person what
    /// their access says, the controller the two tools of a provider, nobody else anything.
    #[must_use]
    pub fn may_call(&self, caller: &Principal, tool: &ToolRef) -> bool {
        let controllers = is_reserved_tool(tool.tool.as_str());
        match caller {
            Principal::Controller { .. } => controllers,
            Principal::Module { node, module } => self.module(module).is_some_and(|found| {
                found.nodes.contains(node) && found.manifest.calls.contains(tool)
            }),
            Principal::Person { name } => match self.people.get(name) {
                Some(Access::Administrator) => !controllers,
                Some(Access::Tools(tools)) => tools.contains(tool),
                None => false,
            },
            Principal::Host { .. }
            | Principal::Builder { .. }
            | Principal::Enrolment { .. }
            | Principal::Gateway { .. } => false,
        }
    }

    /// The modules that provide this.
    pub fn providers<'a>(
        &'a self,
        provision: &'a ProvisionName,
    ) -> impl Iterator<Item = &'a AssignedModule> {
        self.modules.values().filter(move |module| {
            let mut provided = module.manifest.provides.iter();
            provided.any(|provided| provided.name == *provision)
        })
    }

    /// Who gives a module what it requires, and what that promises. Nothing, where the requirement is
    /// none of this mesh's: one of its own has exactly one provider.
    #[must_use]
    pub fn provider_of(&self, required: &Requirement) -> Option<(&AssignedModule, &Provision)> {
        let mut providers = self.modules.values().filter(|module| {
            required.from.as_ref().is_none_or(|from| *from == module.manifest.name)
        });
        providers.find_map(|module| {
            let mut provides = module.manifest.provides.iter();
            let found = provides.find(|provision| provision.name == required.provision)?;
            Some((module, found))
        })
    }
}
