//! Who has a user, and with which grants.

use std::collections::HashMap;
use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::manifest::{AssignedModule, Bus, Isolation, Mesh, MeshFile};
use mesh_core::name::{InstanceName, ModuleName, NodeName, PersonName};
use mesh_core::permissions::{Answers, Origin, Permissions, Rights};
use mesh_core::subject::SubjectError;

use super::{Account, Because, Gateway, Grant, Line, More, User};

const GATEWAYS: &str = "a gateway hears its own mailboxes and writes to its peers'";

/// Everybody who has a user, by name.
pub(super) fn users(mesh: &Mesh, bus: &Bus, more: &More) -> Result<Vec<User>, SubjectError> {
    let lines = Lines::of(mesh.file());
    let home = match bus.isolation {
        Isolation::Split => Account::Edge,
        Isolation::OneAccount => Account::Mesh,
    };
    let mut users = controllers(bus.isolation, &lines);
    for (index, node) in mesh.nodes().iter().enumerate() {
        for (principal, rights) in [
            (Principal::Host { node: node.clone() }, Rights::of_host(node)?),
            (Principal::Builder { node: node.clone() }, Rights::of_builder(node)?),
        ] {
            let line = lines.at(format!("nodes[{index}].name"));
            users.push(user(home, principal, &rights, Some(line), |field| lines.at(field)));
        }
    }
    for module in mesh.modules() {
        users.append(&mut instances(home, module, bus.answers, &lines)?);
    }
    for (name, access) in mesh.people() {
        let principal = Principal::Person { name: name.clone() };
        let rights = Rights::of_person(name, &access.grants())?;
        let entry = lines.person(name);
        let line = lines.at(format!("{entry}.name"));
        let written = |field| lines.at(format!("{entry}.{field}"));
        users.push(user(home, principal, &rights, Some(line), written));
    }
    for token in &more.enrolments {
        let rights = Rights::of_enrolment(token);
        let principal = Principal::Enrolment { token: token.clone() };
        users.push(user(home, principal, &rights, None, |field| lines.at(field)));
    }
    users.extend(more.gateways.iter().map(|of| gateway(of, &lines)));
    users.retain(|user| !more.revoked.contains(&user.name));
    users.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(users)
}

/// The controller's one or two users.
fn controllers(isolation: Isolation, lines: &Lines<'_>) -> Vec<User> {
    let named = |name: &str, account, rights: Rights| {
        let principal = Principal::Controller { name: InstanceName::first() };
        let controller = user(account, principal, &rights, None, |field| lines.at(field));
        User { name: name.to_owned(), ..controller }
    };
    match isolation {
        Isolation::Split => vec![
            named("controller", Account::Bus, Rights::of_controller_bus()),
            named("controller-edge", Account::Edge, Rights::of_controller_edge()),
        ],
        Isolation::OneAccount => {
            vec![named("controller", Account::Mesh, Rights::of_controller())]
        }
    }
}

/// A module on each of its nodes.
fn instances(
    home: Account,
    module: &AssignedModule,
    answers: Answers,
    lines: &Lines<'_>,
) -> Result<Vec<User>, SubjectError> {
    let manifest = &module.manifest;
    let (grants, answers) = (manifest.grants(), manifest.answers(answers));
    let path: Arc<str> = manifest.file().into();
    let written = |field: String| {
        let (line, column) = manifest.place(&field);
        Line { file: Arc::clone(&path), line, column, field }
    };
    let nodes = module.nodes.iter();
    nodes
        .map(|node| {
            let principal = Principal::Module { node: node.clone(), module: manifest.name.clone() };
            let rights = Rights::of_module(node, &manifest.name, &grants, answers)?;
            let line = lines.instance(&manifest.name, node);
            Ok(user(home, principal, &rights, Some(line), written))
        })
        .collect()
}

fn gateway(gateway: &Gateway, lines: &Lines<'_>) -> User {
    let Gateway { name, realm, kinds, peers, group } = gateway;
    let may = match group {
        Some(group) => Permissions::of_shared_gateway(name, realm, kinds, peers, group),
        None => Permissions::of_gateway(name, realm, kinds, peers),
    };
    let principal = Principal::Gateway { name: name.clone() };
    let rights = Rights::by_rule(&may, GATEWAYS);
    user(Account::Backbone, principal, &rights, None, |field| lines.at(field))
}

/// One named after the tokens of its inbox. `written` is where a field stands that a right follows from.
fn user(
    account: Account,
    principal: Principal,
    rights: &Rights,
    line: Option<Line>,
    written: impl Fn(String) -> Line,
) -> User {
    let (what, which) = principal.inbox_tokens();
    let name = format!("{what}.{which}");
    let because = |origin: Origin| match origin {
        Origin::Rule(words) => Because::Rule(words),
        origin => Because::Line(written(origin.field().unwrap_or_default())),
    };
    let grants = rights.iter().map(|right| Grant {
        side: right.side,
        effect: right.effect,
        rule: right.rule.clone(),
        because: because(right.origin),
    });
    let (grants, responses) = (grants.collect(), rights.responses());
    User { name, account, principal, line, grants, responses }
}

/// Where the mesh file names whom.
struct Lines<'f> {
    source: &'f MeshFile,
    file: Arc<str>,
    assignments: HashMap<&'f ModuleName, usize>,
    people: HashMap<&'f PersonName, usize>,
}

impl<'f> Lines<'f> {
    fn of(source: &'f MeshFile) -> Self {
        let assignments = source.assignments.iter().map(|assignment| &assignment.module);
        let people = source.people.iter().map(|person| &person.name);
        Self {
            source,
            file: source.file().into(),
            assignments: assignments.zip(0..).collect(),
            people: people.zip(0..).collect(),
        }
    }

    fn at(&self, field: String) -> Line {
        let (line, column) = self.source.place(&field);
        Line { file: Arc::clone(&self.file), line, column, field }
    }

    /// The module on that node.
    fn instance(&self, module: &ModuleName, node: &NodeName) -> Line {
        let Some(index) = self.assignments.get(module) else {
            return self.at("assignments".to_owned());
        };
        let nodes = &self.source.assignments[*index].nodes;
        match nodes.iter().position(|other| other == node) {
            Some(number) => self.at(format!("assignments[{index}].nodes[{number}]")),
            None => self.at(format!("assignments[{index}]")),
        }
    }

    /// The person's entry.
    fn person(&self, name: &PersonName) -> String {
        match self.people.get(name) {
            Some(index) => format!("people[{index}]"),
            None => "people".to_owned(),
        }
    }
}
