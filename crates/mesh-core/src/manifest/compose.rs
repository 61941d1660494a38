//! From a mesh's files to what its broker holds and what each account may do.

use std::collections::BTreeSet;

use super::{
    Access, AssignedModule, EventPattern, Mesh, MeshFile, ModuleManifest, Problems, ToolRef,
};
use crate::identity::Principal;
use crate::name::{ModuleName, NodeName, ToolName};
use crate::permissions::{Answers, ModuleGrants, Permissions, PersonGrants, Responses, Rights};
use crate::subject::{Filter, SubjectError};
use crate::topology::Topology;

impl Mesh {
    /// The mesh of one node that runs all of these: what a test or an example needs of a mesh file.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    ///
    /// ```
    /// use mesh_core::manifest::{Mesh, ModuleManifest};
    ///
    /// let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']";
    /// let mail = ModuleManifest::parse("mail.toml", mail)?;
    /// let mesh = Mesh::on_one_node(&"n1".parse()?, [mail])?;
    /// assert_eq!(mesh.instances().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_one_node(
        node: &NodeName,
        manifests: impl IntoIterator<Item = ModuleManifest>,
    ) -> Result<Self, Problems> {
        let manifests: Vec<ModuleManifest> = manifests.into_iter().collect();
        let mut file = format!("[[nodes]]\nname = \"{node}\"\n");
        // One that two manifests have is a mistake of the second's.
        let names: BTreeSet<&ModuleName> =
            manifests.iter().map(|manifest| &manifest.name).collect();
        for name in names {
            file.push_str(&format!(
                "[[assignments]]\nmodule = \"{name}\"\nmanifest = \"{name}.toml\"\nnodes = [\"{node}\"]\n"
            ));
        }
        Self::resolve(&MeshFile::parse("(one node)", &file)?, &manifests)
    }

    /// The streams, a consumer for each node, and one for each module that consumes.
    ///
    /// # Errors
    /// `TooLong` where a pattern below `mesh.events` exceeds a subject's length.
    pub fn topology(&self) -> Result<Topology, SubjectError> {
        let modules = self
            .modules()
            .map(|module| (module, EventPattern::minimal_filters(&module.manifest.consumes)));
        let modules: Vec<(&AssignedModule, Vec<Filter>)> = modules.collect();
        let instances = modules.iter().flat_map(|(module, filters)| {
            let name = &module.manifest.name;
            module.nodes.iter().map(move |node| (node, name, filters.as_slice()))
        });
        Topology::of(self.nodes(), instances)
    }

    /// What `principal` may do by the files. Nothing, where they don't know it.
    ///
    /// # Errors
    /// `TooLong` where names are too long together.
    pub fn permissions(&self, principal: &Principal) -> Result<Permissions, SubjectError> {
        match principal {
            Principal::Module { node, module } => match self.module(module) {
                Some(found) if found.nodes.contains(node) => {
                    let answers = found.manifest.answers(self.bus().answers);
                    let grants = found.manifest.grants();
                    Ok(Rights::of_module(node, module, &grants, answers)?.permissions())
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
    /// How it may answer, where the mesh says `answers`: a budget lasts as long as its slowest tool may
    /// take, if that is longer (protocol §4).
    #[must_use]
    pub fn answers(&self, answers: Answers) -> Answers {
        let Answers::AllowResponses(budget) = answers else {
            return answers;
        };
        let slowest = self.tools.iter().map(|tool| tool.timeout).max().unwrap_or_default();
        let expires = budget.expires.max(slowest);
        Answers::AllowResponses(Responses { expires, ..budget })
    }

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
    /// What its person's account follows from.
    #[must_use]
    pub fn grants(&self) -> PersonGrants {
        match self {
            Self::Administrator => PersonGrants::Administrator,
            Self::Tools(tools) => PersonGrants::Tools(pairs(tools)),
        }
    }
}

fn pairs(tools: &[ToolRef]) -> Vec<(ModuleName, ToolName)> {
    tools.iter().map(|tool| (tool.module.clone(), tool.tool.clone())).collect()
}
