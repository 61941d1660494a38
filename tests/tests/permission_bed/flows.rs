//! What the files of a mesh declare that somebody does, each as something to be done over the ports.

use mesh_control::compose::{Account, Composition, User};
use mesh_core::identity::{Principal, Responder};
use mesh_core::manifest::{Access, AssignedModule};
use mesh_core::name::{ConsumerName, NodeName, ToolName};
use mesh_core::provision::{GRANT_TOOL, WITHDRAW_TOOL};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{ConsumerRef, MeshSubject, StreamName};

/// One thing that somebody does.
#[derive(Debug, Clone)]
pub enum Flow {
    /// Sends itself a message, to know that all before it was handled.
    Echo,
    /// Has a stream keep a message.
    Append(Subject),
    /// Has whoever listens hear a message.
    Say(Subject),
    /// Hears what somebody says there.
    Hear(Subject, Filter),
    /// Reads a consumer, which is given this, holds it and settles it.
    Read(ConsumerRef, Subject),
    /// Asks there, and gets an answer.
    Ask(Subject, Principal),
    /// Serves this, is asked there by somebody, and answers.
    Serve(Filter, Subject, Principal),
    /// Uses the server's API.
    Administer,
}

/// What `user` does by the files of its mesh.
pub fn of(composition: &Composition, user: &User) -> Vec<Flow> {
    let mut flows = vec![Flow::Echo];
    match user.principal() {
        Principal::Module { node, module } => {
            if let Some(found) = composition.mesh().module(module) {
                of_module(composition, node, found, &mut flows);
            }
        }
        Principal::Host { node } => of_host(node, &mut flows),
        Principal::Builder { .. } => {
            flows.push(Flow::Append(subject(&MeshSubject::Built)));
            let consumer = consumer(StreamName::Builds, ConsumerName::new("builder").unwrap());
            flows.push(Flow::Read(consumer, subject(&MeshSubject::BuildRequest)));
        }
        Principal::Person { name } => {
            let access = composition.mesh().people().find(|(known, _)| *known == name);
            let tools = match access.unwrap().1 {
                // Of all that it may call, one that nobody lists.
                Access::Administrator => vec![tool("mail", "any-tool")],
                Access::Tools(tools) => tools
                    .iter()
                    .map(|called| tool(called.module.as_str(), called.tool.as_str()))
                    .collect(),
            };
            flows.extend(tools.into_iter().map(|(subject, by)| Flow::Ask(subject, by)));
        }
        Principal::Enrolment { token } => {
            flows.push(Flow::Append(subject(&MeshSubject::Enrol)));
            let answer = text(&format!("_INBOX.enrol.{token}.answer"));
            let inbox = Filter::new(format!("_INBOX.enrol.{token}.>")).unwrap();
            flows.push(Flow::Hear(answer, inbox));
        }
        Principal::Controller { .. } => of_controller(composition, user.account(), &mut flows),
        // Its rights are those of a backbone, which has its own tests.
        Principal::Gateway { .. } => {}
    }
    flows
}

fn of_module(
    composition: &Composition,
    node: &NodeName,
    found: &AssignedModule,
    flows: &mut Vec<Flow>,
) {
    let manifest = &found.manifest;
    let name = &manifest.name;
    for event in &manifest.emits {
        let event = MeshSubject::Event { module: name.clone(), event: event.clone() };
        flows.push(Flow::Append(subject(&event)));
    }
    if !manifest.consumes.is_empty() {
        let consumer = consumer(StreamName::Events, ConsumerName::of_module(node, name));
        let filters = &composition.topology().consumer(&consumer).unwrap().filters;
        let one = filters.iter().find(|filter| filter.as_str().starts_with("mesh.events."));
        let event = one.unwrap().as_str().replace(['*', '>'], "w");
        flows.push(Flow::Read(consumer, text(&event)));
    }
    for called in &manifest.calls {
        let (subject, by) = tool(called.module.as_str(), called.tool.as_str());
        flows.push(Flow::Ask(subject, by));
    }
    let caller = Principal::Person { name: "somebody".parse().unwrap() };
    for served in &manifest.tools {
        let (subject, _) = tool(name.as_str(), served.name.as_str());
        flows.push(Flow::Serve(subject.clone().into(), subject, caller.clone()));
    }
    for reserved in [GRANT_TOOL, WITHDRAW_TOOL].iter().filter(|_| !manifest.provides.is_empty()) {
        let (subject, _) = tool(name.as_str(), reserved);
        flows.push(Flow::Serve(subject.clone().into(), subject, controller()));
    }
}

fn of_host(node: &NodeName, flows: &mut Vec<Flow>) {
    flows.push(Flow::Append(subject(&MeshSubject::Report { node: node.clone() })));
    flows.push(Flow::Say(subject(&MeshSubject::Alive { node: node.clone() })));
    flows.push(Flow::Ask(text(&format!("mesh.ask.{node}.credential")), controller()));
    let consumer = consumer(StreamName::Nodes, ConsumerName::of_node(node));
    flows.push(Flow::Read(consumer, subject(&MeshSubject::Declare { node: node.clone() })));
}

fn of_controller(composition: &Composition, account: Account, flows: &mut Vec<Flow>) {
    let node = composition.mesh().nodes().first().cloned();
    let node = node.unwrap_or_else(|| "n1".parse().unwrap());
    if account != Account::Edge {
        flows.push(Flow::Append(subject(&MeshSubject::Declare { node: node.clone() })));
        flows.push(Flow::Append(subject(&MeshSubject::BuildRequest)));
        flows.push(Flow::Append(subject(&MeshSubject::DeadLetter)));
        flows.push(Flow::Append(text("mesh.replay.n1_mail.shop.sold")));
        let alive = subject(&MeshSubject::Alive { node: node.clone() });
        flows.push(Flow::Hear(alive, Filter::new("mesh.control.*.alive").unwrap()));
        let own = || ConsumerName::new("controller").unwrap();
        let report = subject(&MeshSubject::Report { node: node.clone() });
        flows.push(Flow::Read(consumer(StreamName::Control, own()), report));
        let notice = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.n1_mail";
        flows.push(Flow::Read(consumer(StreamName::Advisories, own()), text(notice)));
        flows.push(Flow::Administer);
    }
    if account != Account::Bus {
        for reserved in [GRANT_TOOL, WITHDRAW_TOOL] {
            let (subject, by) = tool("mail", reserved);
            flows.push(Flow::Ask(subject, by));
        }
        let asks = Filter::new("mesh.ask.*.*").unwrap();
        let asked = text(&format!("mesh.ask.{node}.credential"));
        flows.push(Flow::Serve(asks, asked, Principal::Host { node }));
        flows.push(Flow::Say(text("_INBOX.enrol.t1.answer")));
    }
}

pub fn controller() -> Principal {
    Principal::Controller { name: "c9".parse().unwrap() }
}

/// The subject of a tool, and who serves it.
fn tool(module: &str, tool: &str) -> (Subject, Principal) {
    let module: mesh_core::name::ModuleName = module.parse().unwrap();
    let tool: ToolName = tool.parse().unwrap();
    let by = Principal::Module { node: "n9".parse().unwrap(), module: module.clone() };
    (subject(&MeshSubject::Tool { module, tool }), by)
}

/// Who answers what is asked of `by`.
pub fn responder(by: &Principal) -> Responder {
    by.responder().unwrap()
}

fn consumer(stream: StreamName, name: ConsumerName) -> ConsumerRef {
    ConsumerRef::new(stream, name)
}

fn subject(of: &MeshSubject) -> Subject {
    of.to_subject().unwrap()
}

fn text(text: &str) -> Subject {
    Subject::new(text).unwrap()
}
