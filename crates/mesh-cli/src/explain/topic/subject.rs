//! The mesh's own subjects: `mesh.…`.

use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::name::{ConsumerName, NodeName, ToolName};
use mesh_core::provision::is_reserved_tool;
use mesh_core::subject::Subject;
use mesh_core::topology::{
    AmqpRoute, ConsumerRef, ConsumerRules, DeliverySubject, MeshSubject, MeshSubjectError,
    Retention, StreamName, Topology,
};

use super::mention;
use super::near;
use super::reading::{Amqp, Consumer, Reading, Stream};
use super::who::{self, Named};
use crate::explain::{Fault, Place};

pub(super) fn explain(subject: &Subject, mesh: Option<&Mesh>) -> Result<Reading, Box<Fault>> {
    match MeshSubject::parse(subject) {
        Ok(parsed) => Ok(of(&parsed, subject, mesh)),
        Err(error) => Err(refused(subject.as_str(), &error)),
    }
}

/// Why a subject or a key of the mesh's shape is none: a name in it.
pub(super) fn refused(text: &str, error: &MeshSubjectError) -> Box<Fault> {
    let MeshSubjectError::Name { error: name, at, .. } = error else {
        return near::unknown(text);
    };
    let place = Place::of(text.as_bytes(), error.offset().unwrap_or_default());
    let rule = match name.kind {
        "node name" | "module name" => {
            "small letters, digits and -, not first, at most 63, and none of the reserved names (protocol §1)"
        }
        "consumer name" => "<node>_<module>, or the one consumer's own name (protocol §2)",
        _ => "letters, digits, _ and -, not first, at most 63 a token (protocol §1)",
    };
    let hint = "where a name is wrong nobody of the mesh is meant: on NATS no account has it, and on AMQP it travels through mesh.live";
    let mut fault = Fault::new("name", name.to_string(), place, rule).hint(hint);
    fault.instead = in_small_letters(text, *at).into_iter().collect();
    Box::new(fault)
}

/// The text with the name at `at` in small letters, if that is a subject.
fn in_small_letters(text: &str, at: usize) -> Option<String> {
    let (before, rest) = text.split_at_checked(at)?;
    let (name, behind) = rest.split_at_checked(rest.find('.').unwrap_or(rest.len()))?;
    let mended = format!("{before}{}{behind}", name.to_ascii_lowercase());
    let subject = Subject::new(mended.as_str()).ok()?;
    (mended != text && MeshSubject::parse(&subject).is_ok()).then_some(mended)
}

/// What a subject of the mesh is; `text` is the subject itself.
pub(super) fn of(parsed: &MeshSubject, text: &Subject, mesh: Option<&Mesh>) -> Reading {
    let (kind, meaning) = words(parsed);
    let mut reading = parts(Reading::new(kind, meaning), parsed);
    reading.stream = parsed.stream().map(stream);
    reading.consumers = consumers(parsed, text, mesh);
    let (publish, subscribe) = who::may(text, &named(parsed), mesh);
    (reading.publish, reading.subscribe) = (publish, subscribe);
    reading.amqp = Some(amqp(parsed.to_amqp()));
    reading.modules = mesh.map(|mesh| mention::of(parsed, mesh));
    if let Some(note) = mesh.and_then(|mesh| absent(parsed, mesh)) {
        reading = reading.note(note);
    }
    notes(reading, parsed)
}

/// That the mesh's files have no such thing.
fn absent(subject: &MeshSubject, mesh: &Mesh) -> Option<String> {
    let module = match subject {
        MeshSubject::Event { module, .. }
        | MeshSubject::Replay { module, .. }
        | MeshSubject::Tool { module, .. } => module,
        MeshSubject::Report { node }
        | MeshSubject::Alive { node }
        | MeshSubject::Declare { node }
        | MeshSubject::Ask { node, .. } => {
            return (!mesh.nodes().contains(node)).then(|| format!("no node is called {node}"));
        }
        _ => return None,
    };
    let Some(found) = mesh.module(module) else {
        return Some(format!("no module is called {module}"));
    };
    match subject {
        MeshSubject::Event { event, .. } | MeshSubject::Replay { event, .. } => {
            let emits = &found.manifest.emits;
            (!emits.contains(event)).then(|| {
                let meant = near::meant(event.as_str(), emits);
                format!("{module} does not emit {event}: its manifest has no such event{meant}")
            })
        }
        MeshSubject::Tool { tool, .. } if !serves(&found.manifest, tool) => {
            let tools = found.manifest.tools.iter().map(|tool| &tool.name);
            let meant = near::meant(tool.as_str(), tools);
            Some(format!("{module} does not serve {tool}: its manifest has no such tool{meant}"))
        }
        _ if found.nodes.is_empty() => Some(format!("{module} runs nowhere")),
        _ => None,
    }
}

fn serves(manifest: &ModuleManifest, tool: &ToolName) -> bool {
    let provides = !manifest.provides.is_empty() && is_reserved_tool(tool.as_str());
    provides || manifest.tool(tool).is_some()
}

/// What it is called for programs, and what it is for people.
pub(super) fn words(subject: &MeshSubject) -> (&'static str, &'static str) {
    match subject {
        MeshSubject::Report { .. } => ("report", "a node's report to the controller"),
        MeshSubject::Enrol => {
            ("enrolment", "a request to join, of whoever holds an enrolment token")
        }
        MeshSubject::Built => ("build-outcome", "the outcome of a build, for the controller"),
        MeshSubject::Alive { .. } => ("heartbeat", "a node's heartbeat: live only, never kept"),
        MeshSubject::Declare { .. } => {
            ("declaration", "what a node is to be, signed by the controller")
        }
        MeshSubject::BuildRequest => ("build-request", "work for a builder"),
        MeshSubject::Event { .. } => ("event", "an event: what a module says has happened"),
        MeshSubject::DeadLetter => ("dead-letter", "events that a consumer could not handle"),
        MeshSubject::Replay { .. } => {
            ("replay", "a dead letter on its way back to the one consumer that failed")
        }
        MeshSubject::Tool { .. } => ("tool-call", "a call of a module's tool: live, and answered"),
        MeshSubject::Ask { .. } => ("ask", "what a node asks the controller: live, and answered"),
        _ => ("subject", "a subject of the mesh"),
    }
}

fn parts(reading: Reading, subject: &MeshSubject) -> Reading {
    match subject {
        MeshSubject::Report { node }
        | MeshSubject::Alive { node }
        | MeshSubject::Declare { node } => reading.part("node", node),
        MeshSubject::Event { module, event } => reading.part("module", module).part("event", event),
        MeshSubject::Replay { consumer, module, event } => reading
            .part("consumer", consumer)
            .part("module", module)
            .part("event", event)
            .same("first subject", format!("mesh.events.{module}.{event}")),
        MeshSubject::Tool { module, tool } => reading.part("module", module).part("tool", tool),
        MeshSubject::Ask { node, command } => reading.part("node", node).part("command", command),
        _ => reading,
    }
}

/// The names by which those are found whom the subject concerns.
fn named(subject: &MeshSubject) -> Named {
    let mut named = Named::default();
    match subject {
        MeshSubject::Report { node }
        | MeshSubject::Alive { node }
        | MeshSubject::Declare { node }
        | MeshSubject::Ask { node, .. } => named.nodes.push(node.clone()),
        MeshSubject::Event { module, event } => {
            named.modules.push(module.clone());
            named.events.push(event.clone());
        }
        MeshSubject::Replay { module, .. } => named.modules.push(module.clone()),
        MeshSubject::Tool { module, tool } => {
            named.modules.push(module.clone());
            named.tool = Some((module.clone(), tool.clone()));
        }
        _ => {}
    }
    named
}

pub(super) fn stream(name: StreamName) -> Stream {
    let topology = Topology::new();
    let retention = topology.stream(name).map(|stream| stream.retention);
    let (retention, words) = match retention {
        Some(Retention::WorkQueue) => ("work-queue", "a work queue: kept until it is settled"),
        Some(Retention::NewestPerSubject) => {
            ("newest-per-subject", "the newest of each subject is kept")
        }
        _ => ("log", "a log: kept until it is old, whoever has read it"),
    };
    Stream { name: name.as_str(), retention, words }
}

pub(super) fn amqp(route: AmqpRoute) -> Amqp {
    let AmqpRoute { exchange, key, mandatory, persistent } = route;
    Amqp { exchange: exchange.as_str(), key, mandatory, persistent }
}

/// Who reads it from its stream: of the mesh's files, or the form of the names.
fn consumers(subject: &MeshSubject, text: &Subject, mesh: Option<&Mesh>) -> Vec<Consumer> {
    let topology = match mesh.map(Mesh::topology) {
        Some(Ok(topology)) => topology,
        _ => Topology::new(),
    };
    let topology = match subject {
        MeshSubject::Declare { node } => topology.with_node(node),
        _ => topology,
    };
    let reads = topology
        .consumers()
        .iter()
        .filter(|consumer| consumer.filters.iter().any(|filter| filter.matches(text)))
        .filter(|consumer| Some(consumer.reference.stream) == subject.stream());
    let mut found: Vec<Consumer> = reads.map(|spec| consumer(&spec.reference)).collect();
    match subject {
        MeshSubject::Event { .. } if mesh.is_none() => found.push(consumer_of_any()),
        MeshSubject::Replay { consumer: name, .. } if found.is_empty() => {
            found.push(consumer(&ConsumerRef::new(StreamName::Events, name.clone())));
        }
        _ => {}
    }
    found
}

pub(super) fn consumer(reference: &ConsumerRef) -> Consumer {
    let rules = ConsumerRules::of(reference.stream);
    Consumer {
        name: reference.consumer.to_string(),
        delivered: DeliverySubject::of(reference.clone()).to_subject().as_str().to_owned(),
        queues: reference.amqp_queues(),
        tries: rules.max_deliver,
        unsettled: rules.max_ack_pending,
    }
}

/// The form of the names of all consumers of events: two names that are put in place of both.
fn consumer_of_any() -> Consumer {
    let rules = ConsumerRules::of(StreamName::Events);
    let spelled = |text: String| text.replace("a-node", "<node>").replace("a-module", "<module>");
    let name = ConsumerName::new("a-node_a-module");
    let reference = name.map(|name| ConsumerRef::new(StreamName::Events, name));
    let (delivered, queues) = match reference {
        Ok(reference) => {
            let delivered = DeliverySubject::of(reference.clone()).to_subject();
            (spelled(delivered.as_str().to_owned()), reference.amqp_queues())
        }
        Err(_) => (String::new(), Vec::new()),
    };
    Consumer {
        name: "<node>_<module> of each module that consumes it".to_owned(),
        delivered,
        queues: queues.into_iter().map(spelled).collect(),
        tries: rules.max_deliver,
        unsettled: rules.max_ack_pending,
    }
}

fn notes(reading: Reading, subject: &MeshSubject) -> Reading {
    match subject {
        MeshSubject::Event { .. } => reading.note(
            "nobody subscribes to it: a consumer's deliveries arrive at a subject of its own, and a module has only those that its manifest consumes",
        ),
        MeshSubject::Tool { tool, .. } if is_reserved_tool(tool.as_str()) => {
            reading.note("it gives and takes provisions: a provider serves it, and the controller alone calls it")
        }
        MeshSubject::Ask { node, .. } => {
            reading.note(format!("the broker lets {node}'s host alone ask there, so the controller knows who asks"))
        }
        MeshSubject::Declare { node } => reading.note(format!(
            "{node} applies it only if the controller's signature holds, and its epoch and version are greater than the last"
        )),
        MeshSubject::Report { .. } | MeshSubject::Enrol => {
            reading.note("on AMQP reports and enrolments have one queue: which it is follows from the sender")
        }
        _ => reading,
    }
}

/// Whether a text is the name of a node.
pub(super) fn node(text: &str) -> Option<NodeName> {
    NodeName::new(text).ok()
}
