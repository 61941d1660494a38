//! Addresses that are made and not named: inboxes, acknowledgements, deliveries, notices, the
//! server's API.

use mesh_core::identity::Responder;
use mesh_core::manifest::Mesh;
use mesh_core::name::ConsumerName;
use mesh_core::subject::Subject;
use mesh_core::time::Timestamp;
use mesh_core::topology::{
    AckAddress, AckPrefix, Advisory, AdvisoryKind, ConsumerRef, ConsumerRules, DeliverySubject,
    Inbox, InboxAddress, InboxPurpose, StreamName,
};

use super::near;
use super::reading::Reading;
use super::subject::{consumer, stream};
use super::who::{self, Named};
use crate::explain::{Fault, Place};

pub(super) fn explain(subject: &Subject, mesh: Option<&Mesh>) -> Result<Reading, Box<Fault>> {
    let text = subject.as_str();
    let begins = |prefix: &str| text.starts_with(prefix);
    let (reading, named) = if begins("_INBOX.") {
        inbox(subject)?
    } else if begins("mesh.deliver.") {
        delivery(subject)?
    } else if begins("$JS.ACK.") {
        ack(subject)?
    } else if begins("$JS.EVENT.ADVISORY.") {
        notice(subject)?
    } else if begins("$JS.API.") {
        (api(text), Named::default())
    } else if begins("$SYS.") {
        let meaning = "the server's own account for whoever runs it; nobody of the mesh is in it";
        (Reading::new("system", meaning), Named::default())
    } else if Inbox::is_brokers(subject) {
        let meaning =
            "an address that a server makes, to carry an answer between accounts or servers";
        let note = "nobody may send one as a reply address, and nobody is given one to publish to";
        (Reading::new("brokers-own", meaning).note(note), Named::default())
    } else {
        return Err(near::unknown(text));
    };
    let (publish, subscribe) = who::may(subject, &named, mesh);
    Ok(Reading { publish, subscribe, ..reading })
}

fn inbox(subject: &Subject) -> Result<(Reading, Named), Box<Fault>> {
    let text = subject.as_str();
    let Ok(InboxAddress { owner, purpose, .. }) = InboxAddress::parse(subject) else {
        return Err(not_an_inbox(text));
    };
    let mut named = Named::of(&owner);
    let (kind, meaning, named_part) = match &purpose {
        InboxPurpose::Answer { responder, .. } => {
            if let Responder::Module(module) = responder {
                named.modules.push(module.clone());
            }
            (
                "reply",
                format!("where {owner} waits for one answer of {}", responder.as_str()),
                Some(responder.as_str()),
            )
        }
        InboxPurpose::Confirmation { .. } => (
            "confirmation",
            format!("where the broker tells {owner} that it has an append, or answers its API"),
            None,
        ),
        InboxPurpose::Echo { .. } => (
            "echo",
            format!(
                "where {owner} sends something to itself, to learn that all before it was handled"
            ),
            None,
        ),
        InboxPurpose::EnrolmentAnswer => {
            ("enrolment-answer", format!("where the controller answers {owner}, signed"), None)
        }
        _ => ("inbox", format!("an address in the inbox of {owner}"), None),
    };
    let (what, which) = owner.inbox_tokens();
    let mut reading = Reading::new(kind, meaning)
        .part("of", &owner)
        .part("inbox", Inbox::of(&owner))
        .part("principal", what)
        .part("node or name", which);
    if let Some(responder) = named_part {
        reading = reading.part("responder", responder);
    }
    let random = match &purpose {
        InboxPurpose::Answer { random, .. } | InboxPurpose::Echo { random } => Some(*random),
        InboxPurpose::Confirmation { random } => *random,
        _ => None,
    };
    if let Some(random) = random {
        reading = reading.part("random", format!("{random:032x}"));
    }
    let reading = match &purpose {
        InboxPurpose::Answer { .. } => reading.note(
            "a reply address says where an answer goes, and is no proof of who asks",
        ),
        InboxPurpose::Confirmation { .. } | InboxPurpose::Echo { .. } => reading.note(
            "ack and echo are no responders' names, so nobody else's grant reaches it; a call that wants its answer there reaches no handler",
        ),
        _ => reading,
    };
    Ok((reading, named))
}

fn not_an_inbox(text: &str) -> Box<Fault> {
    let mut fault =
        near::departs(text, "_INBOX.<principal>.<node or name>.<responder>.<32 hex digits>");
    if text.split('.').count() == 2 {
        fault.hints.push(
            "it looks like the inbox that a client library makes by itself: on the mesh its prefix is set to _INBOX.<principal>.<node or name>".to_owned(),
        );
    }
    fault
}

fn delivery(subject: &Subject) -> Result<(Reading, Named), Box<Fault>> {
    let text = subject.as_str();
    let delivery = DeliverySubject::parse(subject)
        .map_err(|_| near::departs(text, "mesh.deliver.<stream>.<consumer>"))?;
    let reference = delivery.consumer();
    let meaning = format!("where the deliveries of consumer {} arrive", reference.consumer);
    let reading = of_consumer(Reading::new("delivery", meaning), reference)
        .note("the server alone publishes there; what arrives is accepted only if its reply address is this consumer's acknowledgement");
    Ok((reading, consumer_named(reference)))
}

/// What holds for every address of a consumer.
fn of_consumer(reading: Reading, reference: &ConsumerRef) -> Reading {
    let ConsumerRef { stream: name, consumer: called } = reference;
    let mut reading = reading.part("stream", name).part("consumer", called);
    if let Some((node, module)) = called.module() {
        reading = reading.part("node", node).part("module", module);
    }
    Reading { stream: Some(stream(*name)), consumers: vec![consumer(reference)], ..reading }
}

fn consumer_named(reference: &ConsumerRef) -> Named {
    let mut named = Named::default();
    match (reference.consumer.module(), reference.stream) {
        (Some((node, module)), _) => {
            named.nodes.push(node);
            named.modules.push(module);
        }
        (None, StreamName::Nodes) => {
            named.nodes.extend(super::subject::node(reference.consumer.as_str()));
        }
        (None, _) => {}
    }
    named
}

const ACK: &str = "$JS.ACK.<stream>.<consumer>.<delivered>.<stream sequence>.<consumer sequence>.<time>.<pending>";

fn ack(subject: &Subject) -> Result<(Reading, Named), Box<Fault>> {
    let text = subject.as_str();
    let address = AckAddress::parse(subject).map_err(|_| not_an_ack(text))?;
    let reference = &address.consumer;
    let numbers = AckPrefix::of(reference).read(text).ok_or_else(|| not_an_ack(text))?;
    let rules = ConsumerRules::of(reference.stream);
    let meaning = format!("where a delivery to consumer {} is acknowledged", reference.consumer);
    let tries = match rules.max_deliver {
        Some(most) => format!("{} of {most}", numbers.delivered),
        None => format!("{}, without a limit", numbers.delivered),
    };
    let mut reading = of_consumer(Reading::new("acknowledgement", meaning), reference);
    let behind: Vec<&str> = text.split('.').skip(2).collect();
    // The second form has two tokens before the stream's name, and it is at least as long.
    let second = behind.first() != Some(&reference.stream.as_str()) || behind.len() > 7;
    if let ([domain, hash, ..], true) = (behind.as_slice(), second) {
        let domain = if *domain == "_" { "none" } else { domain };
        reading = reading.part("form", "second").part("domain", domain).part("account hash", hash);
    } else {
        reading = reading.part("form", "first");
    }
    let reading = reading
        .part("try", tries)
        .part("stream sequence", numbers.stream_sequence)
        .part("consumer sequence", numbers.consumer_sequence)
        .part("stored", stored(numbers.time))
        .part("still waiting", numbers.pending);
    let asks = *subject == AckPrefix::of(reference).of_no_delivery();
    let reading = match asks {
        true => reading.note("of no delivery: it asks whether the consumer is there"),
        false => reading.note(
            "+ACK settles, -NAK asks for another try, +WPI for more time, +TERM gives it up with a reason",
        ),
    };
    Ok((reading, consumer_named(reference)))
}

/// Nanoseconds since 1970 as a moment.
fn stored(nanos: u64) -> String {
    let millis = i64::try_from(nanos / 1_000_000).unwrap_or(i64::MAX);
    match nanos {
        0 => "not told".to_owned(),
        _ => Timestamp::from_millis(millis).to_string(),
    }
}

/// Of another stream, of a consumer that is none, or of another form.
fn not_an_ack(text: &str) -> Box<Fault> {
    let mut fault = near::departs(text, ACK);
    let behind: Vec<&str> = text.split('.').skip(2).collect();
    let names = match behind.len() {
        7 => behind.as_slice(),
        _ => behind.get(2..).unwrap_or_default(),
    };
    if let [name, called, numbers @ ..] = names {
        let told = if StreamName::from_name(name).is_none() {
            Some((*name, format!("{name} is no stream of the mesh")))
        } else if let Err(error) = ConsumerName::new(called) {
            Some((*called, error.to_string()))
        } else {
            let bad = numbers.iter().take(5).find(|number| number.parse::<u64>().is_err());
            bad.map(|number| (*number, "not a number".to_owned()))
        };
        if let Some((token, what)) = told {
            let offset = token.as_ptr().addr().saturating_sub(text.as_ptr().addr());
            fault.place = Place::of(text.as_bytes(), offset);
            fault.what = what;
        }
    }
    fault.rule = "an acknowledgement names a stream and a consumer of the mesh and five numbers; in the second form a domain and a hash before them, and a token behind (protocol §4)".to_owned();
    fault
}

fn notice(subject: &Subject) -> Result<(Reading, Named), Box<Fault>> {
    let shape = "$JS.EVENT.ADVISORY.CONSUMER.<kind>.<stream>.<consumer>";
    let Ok(Advisory { kind, consumer: reference }) = Advisory::parse(subject) else {
        let mut fault = near::departs(subject.as_str(), shape);
        let kinds = AdvisoryKind::ALL.map(AdvisoryKind::as_str).join(" and ");
        fault
            .hints
            .push(format!("the mesh keeps those of the kinds {kinds} about consumers of EVENTS"));
        return Err(fault);
    };
    let why = match kind {
        AdvisoryKind::MaxDeliveries => "it was tried as often as it may be",
        _ => "its reader gave it up",
    };
    let meaning =
        format!("a notice that a delivery to consumer {} is given up: {why}", reference.consumer);
    let reading = of_consumer(Reading::new("notice", meaning), &reference)
        .part("notice", kind.as_str())
        .note("it carries no body of the event: the controller reads that by its sequence, and keeps a dead letter");
    let kept = (reference.stream == StreamName::Events).then(|| stream(StreamName::Advisories));
    let name = ConsumerName::new("controller").ok();
    let readers = name.map(|name| consumer(&ConsumerRef::new(StreamName::Advisories, name)));
    let consumers = readers.into_iter().filter(|_| kept.is_some()).collect();
    Ok((Reading { stream: kept, consumers, ..reading }, Named::default()))
}

/// What the server's API does, by the tokens after `$JS.API`.
const CALLS: [(&str, &str); 19] = [
    ("INFO", "tells of the account"),
    ("STREAM.CREATE", "makes a stream"),
    ("STREAM.UPDATE", "changes a stream"),
    ("STREAM.DELETE", "deletes a stream and all in it"),
    ("STREAM.PURGE", "deletes what is in a stream"),
    ("STREAM.INFO", "tells of a stream"),
    ("STREAM.NAMES", "lists the streams' names"),
    ("STREAM.LIST", "lists the streams"),
    ("STREAM.MSG.GET", "reads a message of a stream"),
    ("STREAM.MSG.DELETE", "deletes a message of a stream"),
    ("DIRECT.GET", "reads a message of a stream from any replica"),
    ("CONSUMER.DURABLE.CREATE", "makes a consumer, in the older form"),
    ("CONSUMER.CREATE", "makes or changes a consumer"),
    ("CONSUMER.DELETE", "deletes a consumer"),
    ("CONSUMER.INFO", "tells of a consumer"),
    ("CONSUMER.NAMES", "lists a stream's consumers' names"),
    ("CONSUMER.LIST", "lists a stream's consumers"),
    ("CONSUMER.MSG.NEXT", "asks for deliveries of a pull consumer, of which the mesh has none"),
    ("CONSUMER.PAUSE", "pauses a consumer"),
];

fn api(text: &str) -> Reading {
    let call = text.strip_prefix("$JS.API.").unwrap_or_default();
    let known = CALLS.iter().find_map(|(name, does)| {
        let rest = call.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with('.'))
            .then(|| (*name, *does, rest.trim_start_matches('.')))
    });
    let reading = match known {
        Some((name, does, rest)) => {
            let meaning = format!("a question to the server's API: it {does}");
            let mut tokens = rest.split('.').filter(|token| !token.is_empty());
            let mut reading = Reading::new("api", meaning).part("call", name);
            if let Some(name) = tokens.next() {
                let known = StreamName::from_name(name).is_some();
                reading = reading.part("stream", name);
                if !known {
                    reading = reading.note(format!("{name} is no stream of the mesh"));
                }
            }
            match tokens.next() {
                Some(consumer) => reading.part("consumer", consumer),
                None => reading,
            }
        }
        None => Reading::new("api", "a question to the server's API that is not known here"),
    };
    reading.note("the controller alone may ask there, in the account that has the streams")
}
