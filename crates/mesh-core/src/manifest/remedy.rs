//! What a file would have to say so that a broker lets somebody do what it refused.

use std::fmt::Display;

use super::{Access, AssignedModule, Mesh, ToolRef};
use crate::identity::Principal;
use crate::name::{ModuleName, NodeName, ToolName};
use crate::provision::is_reserved_tool;
use crate::subject::{Filter, Subject};
use crate::topology::{ConsumerRef, MeshSubject, StreamName};

impl Mesh {
    /// What line of which file would let `principal` publish to `subject`, which the files don't let it.
    /// Nothing, where none would: another's event, a tool that the controller alone calls.
    ///
    /// ```
    /// use mesh_core::identity::Principal;
    /// use mesh_core::manifest::{Mesh, ModuleManifest};
    /// use mesh_core::subject::Subject;
    ///
    /// let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']";
    /// let mesh = Mesh::on_one_node(&"n1".parse()?, [ModuleManifest::parse("mail.toml", mail)?])?;
    /// let mail = Principal::Module { node: "n1".parse()?, module: "mail".parse()? };
    /// let remedy = mesh.remedy_for_publish(&mail, &Subject::new("mesh.events.mail.lost")?);
    /// assert_eq!(remedy.as_deref(), Some(r#"mail.toml:3 lacks it: emits = ["sent", "lost"]"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn remedy_for_publish(&self, principal: &Principal, subject: &Subject) -> Option<String> {
        let about = MeshSubject::parse(subject).ok()?;
        match (principal, about) {
            (Principal::Module { node, module }, about) => {
                let found = self.there(node, module)?;
                match about {
                    MeshSubject::Event { module: of, event } if of == *module => {
                        found.or(|found| {
                            let emits = found.manifest.emits.iter();
                            lacks(found, "emits", emits.chain([&event]))
                        })
                    }
                    MeshSubject::Tool { module: of, tool } if of != *module => {
                        let tool = called(of, tool)?;
                        found.or(|found| {
                            let calls = found.manifest.calls.iter();
                            lacks(found, "calls", calls.chain([&tool]))
                        })
                    }
                    _ => None,
                }
            }
            (Principal::Person { name }, MeshSubject::Tool { module, tool }) => {
                let tool = called(module, tool)?;
                let tools = match self.people.get(name) {
                    None => return Some(format!("the mesh file has no person {name}")),
                    Some(Access::Administrator) => return None,
                    Some(Access::Tools(tools)) => list(tools.iter().chain([&tool])),
                };
                Some(format!("the person {name} of the mesh file lacks it: tools = {tools}"))
            }
            _ => None,
        }
    }

    /// What line would let `principal` listen to `filter`: a tool that its module serves.
    #[must_use]
    pub fn remedy_for_subscribe(&self, principal: &Principal, filter: &Filter) -> Option<String> {
        let Principal::Module { node, module } = principal else {
            return None;
        };
        let found = self.there(node, module)?;
        match MeshSubject::parse(&filter.as_subject()?).ok()? {
            MeshSubject::Tool { module: of, tool } if of == *module => found.or(|found| {
                let file = found.manifest.file();
                if is_reserved_tool(tool.as_str()) {
                    return format!("{file} has nothing that it provides: [[provides]]");
                }
                format!("{file} lacks it: [[tools]] with name = \"{tool}\"")
            }),
            MeshSubject::Event { .. } => {
                let what = "events are read through the module's consumer and are not listened to";
                Some(what.to_owned())
            }
            _ => None,
        }
    }

    /// What line would let `principal` read `consumer`: a module that consumes events has its own.
    #[must_use]
    pub fn remedy_for_consume(
        &self,
        principal: &Principal,
        consumer: &ConsumerRef,
    ) -> Option<String> {
        let Principal::Module { node, module } = principal else {
            return None;
        };
        let own = crate::name::ConsumerName::of_module(node, module);
        if *consumer != ConsumerRef::new(StreamName::Events, own) {
            return None;
        }
        let found = self.there(node, module)?;
        found.or(|found| format!("{} lacks it: consumes = [\"…\"]", found.manifest.file()))
    }

    /// The module, if it is one of the mesh's; and whether it runs on this node.
    fn there(&self, node: &NodeName, module: &ModuleName) -> Option<There<'_>> {
        let found = self.module(module)?;
        if found.nodes.contains(node) {
            Some(There::Here(found))
        } else {
            Some(There::Elsewhere(format!("the mesh file does not assign {module} to {node}")))
        }
    }
}

enum There<'a> {
    Here(&'a AssignedModule),
    Elsewhere(String),
}

impl There<'_> {
    /// That it does not run there, or else what `remedy` says.
    fn or(self, remedy: impl FnOnce(&AssignedModule) -> String) -> Option<String> {
        Some(match self {
            Self::Here(found) => remedy(found),
            Self::Elsewhere(why) => why,
        })
    }
}

/// A tool that somebody else than the controller may call.
fn called(module: ModuleName, tool: ToolName) -> Option<ToolRef> {
    (!is_reserved_tool(tool.as_str())).then_some(ToolRef { module, tool })
}

/// Where this list of the manifest is, and what it would be.
fn lacks<T: Display>(found: &AssignedModule, field: &str, all: impl Iterator<Item = T>) -> String {
    let all: Vec<String> = all.map(|item| item.to_string()).collect();
    let file = found.manifest.file();
    let line = match all.len() {
        1 => String::new(),
        _ => format!(":{}", found.manifest.place(field).0),
    };
    format!("{file}{line} lacks it: {field} = {}", list(&all))
}

/// The items as TOML.
fn list<T: Display>(all: impl IntoIterator<Item = T>) -> String {
    let all: Vec<String> = all.into_iter().map(|item| format!("\"{item}\"")).collect();
    format!("[{}]", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{MeshFile, ModuleManifest};

    fn mesh() -> Mesh {
        let file = "nodes = [{ name = 'n1' }, { name = 'n2' }]\n\
            assignments = [{ module = 'mail', manifest = 'mail.toml', nodes = ['n1'] },\n\
            { module = 'vault', manifest = 'vault.toml', nodes = ['n1'] }]\n\
            people = [{ name = 'ada', tools = ['vault.open'] }]";
        let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']\n";
        let vault = "name = 'vault'\nversion = '1'\n[[tools]]\nname = 'open'\ndescription = 'Opens.'\n\
            [[tools]]\nname = 'shut'\ndescription = 'Shuts.'\n";
        let manifests = [("mail.toml", mail), ("vault.toml", vault)]
            .map(|(file, text)| ModuleManifest::parse(file, text).unwrap());
        Mesh::resolve(&MeshFile::parse("mesh.toml", file).unwrap(), &manifests).unwrap()
    }

    fn module(name: &str, node: &str) -> Principal {
        Principal::Module { node: node.parse().unwrap(), module: name.parse().unwrap() }
    }

    #[test]
    fn each_refusal_names_the_line_that_would_help() {
        let mesh = mesh();
        let ada = Principal::Person { name: "ada".parse().unwrap() };
        let publish = |who: &Principal, text: &str| {
            mesh.remedy_for_publish(who, &Subject::new(text).unwrap())
        };
        let (mail, away) = (module("mail", "n1"), module("mail", "n2"));
        for (who, subject, remedy) in [
            (&mail, "mesh.events.mail.lost", r#"mail.toml:3 lacks it: emits = ["sent", "lost"]"#),
            (&mail, "mesh.tools.vault.open", r#"mail.toml lacks it: calls = ["vault.open"]"#),
            (&away, "mesh.events.mail.sent", "the mesh file does not assign mail to n2"),
            (
                &ada,
                "mesh.tools.vault.shut",
                r#"the person ada of the mesh file lacks it: tools = ["vault.open", "vault.shut"]"#,
            ),
        ] {
            assert_eq!(publish(who, subject).as_deref(), Some(remedy), "{subject}");
        }
        for subject in [
            "mesh.events.vault.opened",
            "mesh.tools.vault.provision_grant",
            "mesh.node.n1.declare",
            "$JS.API.INFO",
        ] {
            assert_eq!(publish(&mail, subject), None, "{subject}");
        }
    }

    #[test]
    fn what_is_listened_to_and_read_has_its_line_too() {
        let mesh = mesh();
        let listen = |who: &Principal, text: &str| {
            mesh.remedy_for_subscribe(who, &Filter::new(text).unwrap())
        };
        let mail = module("mail", "n1");
        let remedy = listen(&mail, "mesh.tools.mail.send").unwrap();
        assert_eq!(remedy, "mail.toml lacks it: [[tools]] with name = \"send\"");
        let remedy = listen(&mail, "mesh.tools.mail.provision_grant").unwrap();
        assert_eq!(remedy, "mail.toml has nothing that it provides: [[provides]]");
        assert!(listen(&mail, "mesh.events.vault.opened").unwrap().contains("not listened to"));
        assert_eq!(listen(&mail, "mesh.tools.vault.open"), None);
        assert_eq!(listen(&mail, ">"), None);
        let read = |consumer: &str| {
            let consumer = ConsumerRef::new(StreamName::Events, consumer.parse().unwrap());
            mesh.remedy_for_consume(&mail, &consumer)
        };
        assert_eq!(read("n1_mail").as_deref(), Some("mail.toml lacks it: consumes = [\"…\"]"));
        assert_eq!(read("n1_vault"), None);
    }
}
