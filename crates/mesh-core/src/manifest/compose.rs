//! From a mesh's files to what its broker holds and what each account may do.

use super::{Access, EventPattern, Mesh, ModuleManifest, ToolRef};
use crate::identity::Principal;
use crate::name::{ModuleName, ToolName};
use crate::permissions::{ModuleGrants, Permissions, PersonGrants};
use crate::subject::SubjectError;
use crate::topology::Topology;

impl Mesh {
    /// The streams, a consumer for each node, and one for each module that consumes.
    ///
    /// # Errors
    /// `TooLong` where a pattern below `mesh.events` exceeds a subject's length.
    pub fn topology(&self) -> Result<Topology, SubjectError> {
        let mut topology = Topology::new();
        for node in self.nodes() {
            topology = topology.with_node(node);
        }
        for instance in self.instances() {
            if let Some(module) = self.module(&instance.module) {
                let filters = EventPattern::minimal_filters(&module.manifest.consumes);
                topology = topology.with_module(&instance.node, &instance.module, &filters)?;
            }
        }
        Ok(topology)
    }

    /// What `principal` may do by the files. Nothing, where they don't know it.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn permissions(&self, principal: &Principal) -> Result<Permissions, SubjectError> {
        match principal {
            Principal::Module { node, module } => match self.module(module) {
                Some(found) if found.nodes.contains(node) => {
                    Permissions::of_module(node, module, &found.manifest.grants())
                }
                _ => Ok(Permissions::default()),
            },
            Principal::Host { node } if self.nodes.contains(node) => Permissions::of_host(node),
            Principal::Builder { node } if self.nodes.contains(node) => {
                Permissions::of_builder(node)
            }
            Principal::Person { name } => match self.people.get(name) {
                Some(access) => Permissions::of_person(name, &access.grants()),
                None => Ok(Permissions::default()),
            },
            Principal::Controller { .. } => Ok(Permissions::of_controller()),
            Principal::Enrolment { token } => Ok(Permissions::of_enrolment(token)),
            Principal::Host { .. } | Principal::Builder { .. } | Principal::Gateway { .. } => {
                Ok(Permissions::default())
            }
        }
    }
}

impl ModuleManifest {
    /// What its account follows from.
    #[must_use]
    pub fn grants(&self) -> ModuleGrants {
        ModuleGrants {
            emits: self.emits.clone(),
            consumes: !self.consumes.is_empty(),
            calls: pairs(&self.calls),
            tools: self.tools.iter().map(|tool| tool.name.clone()).collect(),
            provides: !self.provides.is_empty(),
        }
    }
}

impl Access {
    fn grants(&self) -> PersonGrants {
        match self {
            Self::Administrator => PersonGrants::Administrator,
            Self::Tools(tools) => PersonGrants::Tools(pairs(tools)),
        }
    }
}

fn pairs(tools: &[ToolRef]) -> Vec<(ModuleName, ToolName)> {
    tools
        .iter()
        .map(|tool| (tool.module.clone(), tool.tool.clone()))
        .collect()
}
