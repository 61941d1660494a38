//! Taking so much of what is shared that nobody else has any.

use mesh_core::topology::StreamName;
use mesh_testkit::fixtures::with_stream;
use mesh_testkit::servers::nats::RawNats;
use serde_json::Value;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Mode, PATIENCE, Setup, Started};
use crate::steps::{Witness, append};

pub const ATTACKS: &[Attack] = &[
    attack!(take_all_connections, by "a module",
        "connects until its account is full: the controller comes in all the same"),
    attack!(take_all_connections_without_a_log_in, by "anybody who reaches the port",
        "connects and says nothing: nobody comes in until the server has ended those"),
    attack!(take_all_subscriptions, by "a module",
        "subscribes as often as it may: the limit is each connection's own, and others subscribe all the same"),
    attack!(publish_more_than_a_message_may_hold, by "a module",
        "publishes more than `max_payload`, and says that two gigabytes follow: its own connection ends"),
    attack!(fill_the_control_queue, by "an enrolment",
        "enrols until the queue is full: others still report"),
    attack!(fill_the_control_queue_by_size, by "an enrolment",
        "the same with messages as long as they may be"),
    attack!(fill_the_events, by "a module",
        "emits until the stream is full: others still emit"),
    attack!(fill_the_events_by_size, by "a module",
        "the same with messages as long as they may be"),
];

async fn take_all_connections(mode: Mode) -> Verdict {
    let bed = Bed::start(Setup { connections: 8, ..Setup::of(mode) }).await?;
    let mut taken = Vec::new();
    // The server's own limit is four times EDGE's, and says so before there is TLS.
    while taken.len() <= 32 {
        match bed.raw("evil.n1").await {
            Ok(raw) => taken.push(raw),
            Err(_) if taken.len() >= 8 => break,
            Err(error) => return Err(error),
        }
    }
    if taken.len() > 32 {
        return Err("there is no limit".into());
    }
    match bed.raw("controller").await {
        Ok(_) => Ok(Outcome::Refused),
        Err(_) => Ok(Outcome::Succeeds),
    }
}

/// The server's own limit counts those that have not said who they are.
async fn take_all_connections_without_a_log_in(mode: Mode) -> Verdict {
    let bed = Bed::start(Setup { connections: 8, ..Setup::of(mode) }).await?;
    let mut taken = Vec::new();
    // The server takes four times as many as EDGE, and tells what is more to go.
    for _ in 0..40 {
        taken.push(RawNats::plain(bed.server.address()).await?);
    }
    if bed.raw("controller").await.is_ok() {
        return Ok(Outcome::Refused);
    }
    // They go by themselves, once the time to log in is over.
    for raw in taken {
        raw.with_patience(PATIENCE).closed().await?;
    }
    bed.raw("controller").await?;
    Ok(Outcome::Succeeds)
}

async fn take_all_subscriptions(mode: Mode) -> Verdict {
    let bed = Bed::start(Setup { subscriptions: 200, ..Setup::of(mode) }).await?;
    let mut raw = bed.raw("evil.n1").await?;
    // In one account there is the server's own limit.
    for number in 0..=(if bed.is_split() { 200 } else { 800 }) {
        raw.subscribe(&format!("_INBOX.evil.n1.{number}"), None).await?;
    }
    let errors = raw.settle().await?.errors;
    if !errors.iter().any(|error| error.contains("maximum subscriptions exceeded")) {
        return Err(format!("the account has no limit: {errors:?}").into());
    }
    let mut neighbour = bed.raw("evil.n2").await?;
    for number in 0..150 {
        neighbour.subscribe(&format!("_INBOX.evil.n2.{number}"), None).await?;
    }
    let refused = neighbour.settle().await?.errors;
    bed.raw("controller").await?;
    Ok(if refused.is_empty() { Outcome::Refused } else { Outcome::Succeeds })
}

async fn publish_more_than_a_message_may_hold(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut neighbour = bed.raw("mute.n1").await?;
    let raw = bed.raw("evil.n1").await?;
    let most = raw.info()["max_payload"].as_u64().ok_or("no limit is told")?;
    for (size, sent) in [(most + 1, usize::try_from(most + 1)?), (2 << 30, 1024)] {
        let mut raw = bed.raw("evil.n1").await?;
        let mut bytes = format!("PUB mesh.events.evil.x {size}\r\n").into_bytes();
        bytes.resize(bytes.len() + sent, b'x');
        // The server may close before it has read all.
        let _closed = raw.send(bytes).await;
        let errors = raw.closed().await?;
        if !errors.is_empty() && !errors.iter().any(|error| error.contains("Maximum Payload")) {
            return Err(format!("{errors:?}").into());
        }
    }
    let said = append(&bed, &mut neighbour, "mute.n1", "mesh.events.mute.y", &[], b"{}").await?;
    bed.raw("controller").await?;
    // It is the first that is stored.
    if said["seq"] == 1 { Ok(Outcome::Refused) } else { Err(said.to_string().into()) }
}

const FULL: u64 = 10077;

const ENROLMENT: (&str, &str) = ("enrol.t1", "mesh.control.enrol");
const HOST: (&str, &str) = ("host.n1", "mesh.control.n1.report");
const EVIL: (&str, &str) = ("evil.n1", "mesh.events.evil.x");
const SVC: (&str, &str) = ("svc.n1", "mesh.events.svc.made");

/// `who` appends to `subject` until the stream takes nothing more of it, long bodies first, and then
/// `other` to its own.
async fn fills(
    bed: &Bed,
    stream: StreamName,
    longest: usize,
    (who, subject): (&str, &str),
    (other, its): (&str, &str),
) -> Verdict {
    let mut raw = bed.raw(who).await?;
    let mut length = longest;
    let (mut appended, mut said) = (0, Value::Null);
    while length > 0 && appended < 2_000 {
        said = append(bed, &mut raw, who, subject, &[], &vec![b'x'; length]).await?;
        match said["error"].is_object() {
            true => length /= 2,
            false => appended += 1,
        }
    }
    if said["error"]["err_code"] != FULL {
        return Err(said.to_string().into());
    }
    let mut neighbour = bed.raw(other).await?;
    let before = Witness::of(bed).await?.messages(stream.as_str()).await?;
    let said = append(bed, &mut neighbour, other, its, &[], b"{}").await?;
    let after = Witness::of(bed).await?.messages(stream.as_str()).await?;
    match (said["error"]["err_code"].as_u64(), before.zip(after)) {
        (None, Some((before, after))) if after == before + 1 => Ok(Outcome::Kept),
        (Some(FULL), Some((before, after))) if after == before => Ok(Outcome::Succeeds),
        _ => Err(said.to_string().into()),
    }
}

/// The stream takes three of a subject.
async fn few(mode: Mode, stream: StreamName) -> Started<Bed> {
    let few = |topology| {
        with_stream(topology, stream, |spec| {
            spec.max_messages_per_subject = Some(3);
        })
    };
    Bed::with(Setup::of(mode), few).await
}

async fn fill_the_control_queue(mode: Mode) -> Verdict {
    let bed = few(mode, StreamName::Control).await?;
    fills(&bed, StreamName::Control, 2, ENROLMENT, HOST).await
}

async fn fill_the_events(mode: Mode) -> Verdict {
    let bed = few(mode, StreamName::Events).await?;
    fills(&bed, StreamName::Events, 2, EVIL, SVC).await
}

/// The longest body that the stream takes, as a mesh has it.
async fn longest(bed: &Bed, stream: StreamName) -> Started<usize> {
    let about = Witness::of(bed).await?.about(stream.as_str()).await?;
    let most = about["config"]["max_msg_size"].as_u64().filter(|most| *most < 1 << 20);
    // What the server adds to a message's own size counts, too.
    Ok(usize::try_from(most.ok_or("no limit")?)? - 1024)
}

async fn fill_the_control_queue_by_size(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let longest = longest(&bed, StreamName::Control).await?;
    fills(&bed, StreamName::Control, longest, ENROLMENT, HOST).await
}

/// As large as the control queue, to be filled in a moment: what counts is that one subject may hold as
/// much as the stream.
async fn fill_the_events_by_size(mode: Mode) -> Verdict {
    let small = |topology| {
        with_stream(topology, StreamName::Events, |spec| {
            spec.max_bytes = 64 << 20;
        })
    };
    let bed = Bed::with(Setup::of(mode), small).await?;
    let longest = longest(&bed, StreamName::Events).await?;
    fills(&bed, StreamName::Events, longest, EVIL, SVC).await
}
