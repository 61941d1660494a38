//! Who may publish and subscribe: asked of the core's permissions, of everybody whom a subject could
//! concern.

use std::fmt;

use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::mx::MailboxKind;
use mesh_core::name::{
    EventName, InstanceName, ModuleName, NodeName, PersonName, RealmName, TokenId, ToolName,
};
use mesh_core::permissions::{ModuleGrants, Permissions, PersonGrants, Rules};
use mesh_core::subject::{Filter, Subject};
use serde::Serialize;

/// Somebody who may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Who {
    /// Who; where no mesh file is given, of which kind.
    who: String,
    /// What their manifest or the mesh file has to say for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<String>,
    /// The queue group in which alone they may subscribe.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.who)?;
        if let Some(when) = &self.when {
            write!(f, ", if {when}")?;
        }
        if let Some(group) = &self.group {
            write!(f, ", in queue group {group}")?;
        }
        Ok(())
    }
}

/// Who may publish to a realm's mailbox, and who listens there.
pub(super) fn may_at_mailbox(
    mailbox: &Subject,
    realm: &RealmName,
    kind: MailboxKind,
) -> (Vec<Who>, Vec<Who>) {
    let (Ok(name), Ok(elsewhere)) = (InstanceName::new("any"), RealmName::new("elsewhere")) else {
        return (Vec::new(), Vec::new());
    };
    let own = Permissions::of_gateway(&name, realm, &[kind], &[]);
    let peer = Permissions::of_gateway(&name, &elsewhere, &[], &[(realm.clone(), kind)]);
    let who = |who: String, when: Option<String>| Who { who, when, group: None };
    let listens = group(&own.subscribe, &Filter::from(mailbox.clone()), mailbox).is_some();
    let listens = listens.then(|| who(format!("the gateway of {realm}"), None));
    let writes = peer.publish.permits(mailbox).then(|| {
        who("the gateway of another realm".to_owned(), Some(format!("{realm} is a peer of it")))
    });
    (writes.into_iter().collect(), listens.into_iter().collect())
}

/// The names in a subject, by which its owners are found.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) nodes: Vec<NodeName>,
    pub(super) modules: Vec<ModuleName>,
    pub(super) events: Vec<EventName>,
    pub(super) tool: Option<(ModuleName, ToolName)>,
    pub(super) people: Vec<PersonName>,
    pub(super) tokens: Vec<TokenId>,
}

impl Named {
    /// The names of one who takes part.
    pub(super) fn of(principal: &Principal) -> Self {
        let mut named = Self::default();
        match principal.clone() {
            Principal::Module { node, module } => {
                named.nodes.push(node);
                named.modules.push(module);
            }
            Principal::Host { node } | Principal::Builder { node } => named.nodes.push(node),
            Principal::Person { name } => named.people.push(name),
            Principal::Enrolment { token } => named.tokens.push(token),
            Principal::Controller { .. } | Principal::Gateway { .. } => {}
        }
        named
    }
}

/// Somebody, what they may, and what has to be declared for it.
struct Candidate {
    who: String,
    /// Who it is wherever it runs.
    kin: String,
    when: Option<String>,
    permissions: Permissions,
}

/// Who may publish to `subject`, and who subscribe; by the mesh's files, where they are given.
pub(super) fn may(subject: &Subject, named: &Named, mesh: Option<&Mesh>) -> (Vec<Who>, Vec<Who>) {
    let candidates = match mesh {
        Some(mesh) => of_mesh(mesh, named),
        None => of_kinds(named),
    };
    let publish = candidates.iter().filter(|c| c.permissions.publish.permits(subject));
    let filter = Filter::from(subject.clone());
    let subscribe = candidates.iter().filter_map(|candidate| {
        Some((candidate, group(&candidate.permissions.subscribe, &filter, subject)?))
    });
    (told(publish.map(|candidate| (candidate, None))), told(subscribe))
}

/// Who may subscribe to a pattern as a whole.
pub(super) fn may_listen(filter: &Filter, mesh: Option<&Mesh>) -> Vec<Who> {
    let mut tokens = filter.tokens().skip(1);
    let owner = match (tokens.next(), tokens.next()) {
        (Some(kind), Some(name)) => Principal::from_inbox_tokens(kind, name),
        _ => None,
    };
    let named = owner.as_ref().map(Named::of).unwrap_or_default();
    let candidates = match mesh {
        Some(mesh) => of_mesh(mesh, &named),
        None => of_kinds(&named),
    };
    told(candidates.iter().filter_map(|candidate| {
        let rules = &candidate.permissions.subscribe;
        let rule = rules.allowed().iter().find(|rule| rule.filter.contains(filter))?;
        rules
            .permits_filter(filter, rule.group.as_ref())
            .then(|| (candidate, rule.group.as_ref().map(ToString::to_string)))
    }))
}

/// Each once: whoever may on any node isn't told of one node, and whoever needs nothing for it
/// isn't told what else would do.
fn told<'c>(those: impl Iterator<Item = (&'c Candidate, Option<String>)>) -> Vec<Who> {
    let mut told: Vec<Told<'_>> = Vec::new();
    for (candidate, group) in those {
        let when = candidate.when.as_deref();
        let mut same = told
            .iter_mut()
            .filter(|told| told.candidate.kin == candidate.kin && told.group == group);
        if same.any(|told| told.whens.is_empty() || when.is_some_and(|w| told.whens.contains(&w))) {
            continue;
        }
        let mut same = told
            .iter_mut()
            .filter(|told| told.candidate.who == candidate.who && told.group == group);
        match (same.next(), when) {
            (Some(told), Some(when)) => told.whens.push(when),
            _ => told.push(Told { candidate, whens: when.into_iter().collect(), group }),
        }
    }
    told.into_iter().map(Told::who).collect()
}

struct Told<'c> {
    candidate: &'c Candidate,
    /// Each alone will do; none is needed, where there are none.
    whens: Vec<&'c str>,
    group: Option<String>,
}

impl Told<'_> {
    fn who(self) -> Who {
        let when = (!self.whens.is_empty()).then(|| self.whens.join(" or "));
        Who { who: self.candidate.who.clone(), when, group: self.group }
    }
}

/// In which group the subject may be subscribed to, if at all.
fn group(rules: &Rules, filter: &Filter, subject: &Subject) -> Option<Option<String>> {
    let rule = rules.allowed().iter().find(|rule| rule.filter.contains(filter))?;
    let permitted = rules.permits_filter(filter, rule.group.as_ref()) && !rules.hides(subject);
    permitted.then(|| rule.group.as_ref().map(ToString::to_string))
}

/// Everybody in the mesh, and those who are in every mesh.
fn of_mesh(mesh: &Mesh, named: &Named) -> Vec<Candidate> {
    let mut all: Vec<Principal> = mesh.instances().map(Principal::from).collect();
    for node in mesh.nodes() {
        all.push(Principal::Host { node: node.clone() });
        all.push(Principal::Builder { node: node.clone() });
    }
    all.extend(mesh.people().map(|(name, _)| Principal::Person { name: name.clone() }));
    let known = all.into_iter().filter_map(|principal| {
        let permissions = mesh.permissions(&principal).ok()?;
        let who = principal.to_string();
        Some(Candidate { kin: who.clone(), who, when: None, permissions })
    });
    known.chain(of_every_mesh(named)).collect()
}

/// Those who are in no file.
fn of_every_mesh(named: &Named) -> Vec<Candidate> {
    let fixed = |who: &str, permissions| Candidate {
        who: who.to_owned(),
        kin: who.to_owned(),
        when: None,
        permissions,
    };
    let mut found = vec![
        fixed("the controller (beside the streams)", Permissions::of_controller_bus()),
        fixed("the controller (beside everybody else)", Permissions::of_controller_edge()),
    ];
    let token = named.tokens.first().cloned().or_else(|| TokenId::new("a-token").ok());
    if let Some(token) = token {
        let who = match named.tokens.first() {
            Some(token) => format!("whoever holds the enrolment token {token}"),
            None => "whoever holds an enrolment token".to_owned(),
        };
        found.push(fixed(&who, Permissions::of_enrolment(&token)));
    }
    found
}

/// Without files: one of each kind that the names in the subject could be about.
fn of_kinds(named: &Named) -> Vec<Candidate> {
    let mut found = Vec::new();
    // A node that the subject doesn't name stands for any.
    let any_node = unused(&named.nodes, |name| NodeName::new(name).ok());
    let nodes = || any_node.iter().map(|node| (node, "any node")).chain(named_nodes(named));
    let any_module = unused(&named.modules, |name| ModuleName::new(name).ok());
    let modules = named.modules.iter().map(|module| (module, module.to_string()));
    for (module, called) in modules.chain(any_module.iter().map(|m| (m, "any".to_owned()))) {
        let called =
            if called == "any" { "any module".to_owned() } else { format!("module {called}") };
        for (when, grants) in grants(module, named) {
            for (node, on) in nodes() {
                if let Ok(permissions) = Permissions::of_module(node, module, &grants) {
                    found.push(Candidate {
                        who: format!("{called} on {on}"),
                        kin: called.clone(),
                        when: when.clone(),
                        permissions,
                    });
                }
            }
        }
    }
    for (node, on) in nodes() {
        let host = Permissions::of_host(node).map(|rules| ("the host of", rules));
        let builder = Permissions::of_builder(node).map(|rules| ("the builder on", rules));
        for (what, permissions) in [host, builder].into_iter().flatten() {
            found.push(Candidate {
                who: format!("{what} {on}"),
                kin: what.to_owned(),
                when: None,
                permissions,
            });
        }
    }
    let any_person = unused(&named.people, |name| PersonName::new(name).ok());
    let people = any_person.iter().map(|person| (person, "any person".to_owned()));
    let named_people = named.people.iter().map(|person| (person, format!("person {person}")));
    for (person, who) in people.chain(named_people) {
        let listed = PersonGrants::Tools(named.tool.iter().cloned().collect());
        let tool = named.tool.as_ref().map(|(module, tool)| format!("{module}.{tool}"));
        for (when, grants) in [
            (tool.map(|tool| format!("their tools list {tool}")), listed),
            (Some("they are an administrator".to_owned()), PersonGrants::Administrator),
        ] {
            if let Ok(permissions) = Permissions::of_person(person, &grants) {
                found.push(Candidate {
                    kin: "a person".to_owned(),
                    who: who.clone(),
                    when,
                    permissions,
                });
            }
        }
    }
    found.extend(of_every_mesh(named));
    found
}

fn named_nodes(named: &Named) -> impl Iterator<Item = (&NodeName, &str)> {
    named.nodes.iter().map(|node| (node, node.as_str()))
}

/// What a manifest may have to list, each alone, and nothing first.
fn grants(module: &ModuleName, named: &Named) -> Vec<(Option<String>, ModuleGrants)> {
    let mut all = vec![(None, ModuleGrants::default())];
    for event in &named.events {
        let grants = ModuleGrants { emits: vec![event.clone()], ..ModuleGrants::default() };
        all.push((Some(format!("its manifest emits {event}")), grants));
    }
    let consumes = ModuleGrants { consumes: true, ..ModuleGrants::default() };
    all.push((Some("its manifest consumes anything".to_owned()), consumes));
    if let Some((of, tool)) = &named.tool {
        if of == module {
            let tools = vec![tool.clone()];
            let grants = ModuleGrants { tools, ..ModuleGrants::default() };
            all.push((Some(format!("its manifest has the tool {tool}")), grants));
        } else {
            let calls = vec![(of.clone(), tool.clone())];
            let grants = ModuleGrants { calls, ..ModuleGrants::default() };
            all.push((Some(format!("its manifest calls {of}.{tool}")), grants));
        }
    } else if let Ok(tool) = ToolName::new("any") {
        let grants = ModuleGrants { tools: vec![tool], ..ModuleGrants::default() };
        all.push((Some("its manifest has any tool".to_owned()), grants));
    }
    let provides = ModuleGrants { provides: true, ..ModuleGrants::default() };
    all.push((Some("its manifest provides anything".to_owned()), provides));
    all
}

/// A name that none of these is.
fn unused<N: AsRef<str>>(names: &[N], make: impl Fn(&str) -> Option<N>) -> Option<N> {
    (0..=names.len())
        .map(|number| format!("any-{number}"))
        .find(|free| names.iter().all(|name| name.as_ref() != free))
        .and_then(|free| make(&free))
}
