//! Routing keys and names of queues on AMQP.

use mesh_core::manifest::Mesh;
use mesh_core::name::ConsumerName;
use mesh_core::subject::Subject;
use mesh_core::topology::{
    AmqpExchange, AmqpQueue, AmqpRoute, ConsumerRef, MeshSubject, MeshSubjectError, StreamName,
};

use super::reading::{Amqp, Reading};
use super::subject;
use crate::explain::{Fault, Place};

/// What a key means on an exchange.
pub(super) fn explain(
    exchange: AmqpExchange,
    key: &Subject,
    mesh: Option<&Mesh>,
) -> Result<Reading, Box<Fault>> {
    let text = key.as_str();
    let by_name = match exchange {
        AmqpExchange::Default => queue(text),
        AmqpExchange::Rpc => answers(text),
        _ => None,
    };
    if let Some(reading) = by_name {
        return Ok(reading);
    }
    if exchange == AmqpExchange::Live {
        return match AmqpRoute::subject(exchange, key, None) {
            Some(subject) => Ok(live(&subject)),
            None => Err(not_live(text)),
        };
    }
    match MeshSubject::from_amqp(exchange, key, None) {
        Ok(parsed) => Ok(of(exchange, text, &parsed, mesh)),
        Err(error @ MeshSubjectError::Name { .. }) => Err(subject::refused(text, &error)),
        Err(_) => Err(no_key(exchange, text)),
    }
}

/// What a text without an exchange may be as a key or a queue's name, likeliest first.
pub(super) fn guess(key: &Subject, mesh: Option<&Mesh>) -> Vec<Reading> {
    let mut found: Vec<Reading> = queue(key.as_str()).into_iter().collect();
    for exchange in [AmqpExchange::Rpc, AmqpExchange::Events] {
        // A tool's queue and its key are called alike.
        if found
            .iter()
            .all(|reading| reading.kind != "tool-queue" && reading.kind != "answers-queue")
        {
            found.extend(explain(exchange, key, mesh));
        }
    }
    // Any word could be a node's; where the nodes are known, those are.
    let is_node = mesh.is_some_and(|mesh| mesh.nodes().iter().any(|n| n.as_str() == key.as_str()));
    if is_node {
        found.extend(explain(AmqpExchange::Alive, key, mesh));
    }
    found
}

fn of(exchange: AmqpExchange, key: &str, parsed: &MeshSubject, mesh: Option<&Mesh>) -> Reading {
    let Ok(text) = parsed.to_subject() else {
        return Reading::new("key", "a key whose subject is too long");
    };
    let mut reading = subject::of(parsed, &text, mesh);
    if let Some(amqp) = &mut reading.amqp {
        // Dead letters keep the key that they had.
        key.clone_into(&mut amqp.key);
        amqp.exchange = exchange.as_str();
    }
    let reading = reading.same("subject on NATS", &text);
    match parsed {
        MeshSubject::Event { module, event } => {
            reading.same("in a manifest's consumes", format!("{module}.{event}"))
        }
        _ => reading,
    }
}

/// The key of an answer, which names whose queue takes it.
fn answers(key: &str) -> Option<Reading> {
    let caller = AmqpQueue::caller_of_answers(key)?;
    let reading = Reading::new("reply", format!("the answer to a call of {caller}"));
    let exchange = AmqpExchange::Rpc.as_str();
    let amqp = Amqp { exchange, key: key.to_owned(), mandatory: true, persistent: false };
    Some(Reading { amqp: Some(amqp), ..reading }.part("of", caller))
}

/// What a queue of this name is; through the exchange without a name it is a key, too.
fn queue(name: &str) -> Option<Reading> {
    let of_consumer = |reference: &ConsumerRef, meaning: String| {
        let reading = Reading::new("queue", meaning).part("queue", name);
        let reading = match reference.consumer.module() {
            Some((node, module)) => reading.part("node", node).part("module", module),
            None => reading,
        };
        Reading {
            stream: Some(subject::stream(reference.stream)),
            consumers: vec![subject::consumer(reference)],
            ..reading
        }
    };
    if let Some(reference) = ConsumerRef::of_amqp_events(name) {
        let consumer = &reference.consumer;
        let meaning = format!("the queue of the events that consumer {consumer} has");
        let reading = of_consumer(&reference, meaning);
        return Some(reading.same("deliveries on NATS", delivered(&reference)));
    }
    if let Some(node) = name.strip_prefix("node.").and_then(subject::node) {
        let reference = ConsumerRef::new(StreamName::Nodes, ConsumerName::of_node(&node));
        let meaning = format!("the queue of {node}'s declarations, the newest alone");
        let reading = of_consumer(&reference, meaning).part("node", &node);
        let declare = MeshSubject::Declare { node }.to_subject().ok()?;
        return Some(reading.same("subject on NATS", declare));
    }
    if let Some(caller) = AmqpQueue::caller_of_answers(name) {
        let meaning = format!("the queue of the answers that {caller} waits for");
        return Some(Reading::new("answers-queue", meaning).part("of", caller));
    }
    if let Some((owner, filter)) = AmqpQueue::subscription_of(name) {
        let meaning = format!("the queue of what {owner} listens to live");
        let bindings = AmqpExchange::bindings(&filter);
        let reading = Reading::new("live-queue", meaning).part("of", owner).part("filter", filter);
        return Some(bindings.into_iter().fold(reading, |reading, (exchange, pattern)| {
            reading.same("bindings", format!("{exchange} {pattern}"))
        }));
    }
    let work = [(StreamName::Control, "controller"), (StreamName::Builds, "builder")];
    work.into_iter().find_map(|(stream, consumer)| {
        let reference = ConsumerRef::new(stream, ConsumerName::new(consumer).ok()?);
        reference.amqp_queues().iter().any(|queue| queue == name).then(|| {
            let meaning = match (stream, name) {
                (StreamName::Builds, _) => "the queue of build requests",
                (_, "control") => "the queue of reports and enrolments; which a message is follows from its sender",
                (_, "control.upgrades") => "the queue of outcomes of builds",
                _ => "the queue of reports that were made while the controller was away",
            };
            of_consumer(&reference, meaning.to_owned())
        })
    })
}

fn delivered(reference: &ConsumerRef) -> String {
    mesh_core::topology::DeliverySubject::of(reference.clone()).to_subject().as_str().to_owned()
}

fn live(subject: &Subject) -> Reading {
    let meaning = "a live message that is none of the mesh's own: on AMQP they all travel there";
    let reading = super::of_subject(subject, None).and_then(Result::ok);
    let reading = reading.unwrap_or_else(|| Reading::new("live", meaning));
    Reading { amqp: Some(subject::amqp(AmqpRoute::of(subject))), ..reading }
        .same("subject on NATS", subject)
}

fn not_live(text: &str) -> Box<Fault> {
    let place = Place::of(text.as_bytes(), 0);
    let rule = "nothing of the mesh's own travels through mesh.live, where keys say whatever their senders like (protocol §7)";
    let hint =
        "leave --exchange out to see where it travels; a message with this key there is refused";
    Box::new(Fault::new("exchange", "a subject of the mesh's own", place, rule).hint(hint))
}

fn no_key(exchange: AmqpExchange, text: &str) -> Box<Fault> {
    let place = Place::of(text.as_bytes(), 0);
    let (rule, hint) = match exchange {
        AmqpExchange::Default => (
            "through the exchange without a name, the key is a queue's name (protocol §7)",
            "the mesh's queues are control, control.upgrades, control.catchup, builds, node.<node>, <node>.<module>.events, serve.<module>.<tool>, reply.<user>",
        ),
        AmqpExchange::Rpc => (
            "a key of mesh.rpc begins with serve, ask or reply (protocol §7)",
            "write serve.<module>.<tool>, ask.<node>.<command> or reply.<user>",
        ),
        AmqpExchange::Events => (
            "a key of mesh.events is <module>.<event> (protocol §7)",
            "write <module>.<event>, or replay.<node>_<module>.<module>.<event>",
        ),
        _ => ("the keys of that exchange (protocol §7)", "see that the exchange is the right one"),
    };
    Box::new(Fault::new("key", "no key of that exchange", place, rule).hint(hint))
}
