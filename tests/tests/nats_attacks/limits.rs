//! Filling what is shared, and headers by which a stream would do more than store.

use mesh_core::port::ServeOptions;
use mesh_core::topology::StreamName;
use mesh_testkit::fixtures::{filter, with_stream};
use mesh_testkit::servers::nats::RawNats;
use serde_json::Value;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Isolation, Setup, Started};
use crate::steps::{Witness, ack_inbox, no_publish};

pub const ATTACKS: &[Attack] = &[
    attack!(fill_the_control_queue, by "an enrolment",
        "enrols until the queue is full: others still report", Kept, Kept),
    attack!(fill_the_events, by "a module",
        "emits until the stream is full: others still emit", Kept, Kept),
    attack!(roll_up, by "a module, a host, an enrolment",
        "asks for what is stored to be rolled up: its subject, and everything", Kept, Kept),
    attack!(expire, by "a module",
        "gives its event a time to live", Kept, Kept),
    attack!(schedule, by "a module",
        "has its event published again later as another's", Kept, Kept),
    attack!(batch, by "a module",
        "publishes a batch that is stored at once", Kept, Kept),
    attack!(count, by "a module",
        "makes its event a counter", Kept, Kept),
    attack!(trace, by "a module",
        "has the server's trace of its event or call sent to what it may not publish to", Refused, Refused),
    attack!(trace_at_itself, by "a module",
        "has it sent to itself, and learns on which node the tool is served", Succeeds, Succeeds),
];

/// Appends as `who`, and answers the stream's word.
async fn append(
    bed: &Bed,
    raw: &mut RawNats,
    who: &str,
    subject: &str,
    headers: &[(&str, &str)],
) -> Started<Value> {
    let inbox = ack_inbox(bed, who, 0xfeed);
    let said = raw.request(subject, &inbox, headers, b"{}").await?;
    Ok(serde_json::from_slice(&said.body)?)
}

const FULL: u64 = 10077;

/// `who` appends to `subject` until the stream has three, and then `other` to its own.
async fn fills(
    isolation: Isolation,
    stream: StreamName,
    (who, subject): (&str, &str),
    (other, its): (&str, &str),
) -> Verdict {
    let few = |topology| {
        with_stream(topology, stream, |spec| {
            spec.max_messages_per_subject = Some(3);
        })
    };
    let bed = Bed::with(Setup::of(isolation), few).await?;
    let mut raw = bed.raw(who).await?;
    for number in 1..=3 {
        let said = append(&bed, &mut raw, who, subject, &[]).await?;
        if said["seq"] != number {
            return Err(said.to_string().into());
        }
    }
    let said = append(&bed, &mut raw, who, subject, &[]).await?;
    if said["error"]["err_code"] != FULL {
        return Err(said.to_string().into());
    }
    let mut neighbour = bed.raw(other).await?;
    let said = append(&bed, &mut neighbour, other, its, &[]).await?;
    let mut witness = Witness::of(&bed).await?;
    let held = witness.messages(stream.as_str()).await?;
    Ok(if said["seq"] == 4 && held == Some(4) { Outcome::Kept } else { Outcome::Succeeds })
}

async fn fill_the_control_queue(isolation: Isolation) -> Verdict {
    let enrolment = ("enrol.t1", "mesh.control.enrol");
    let host = ("host.n1", "mesh.control.n1.report");
    fills(isolation, StreamName::Control, enrolment, host).await
}

async fn fill_the_events(isolation: Isolation) -> Verdict {
    let evil = ("evil.n1", "mesh.events.evil.x");
    let svc = ("svc.n1", "mesh.events.svc.made");
    fills(isolation, StreamName::Events, evil, svc).await
}

/// An append with these headers is refused with one of these numbers, and nothing is stored or gone.
async fn kept(
    isolation: Isolation,
    (who, subject): (&str, &str),
    stream: &str,
    tried: &[&[(&str, &str)]],
    codes: &[u64],
) -> Verdict {
    let bed = bed(isolation).await?;
    let mut raw = bed.raw(who).await?;
    for _ in 0..2 {
        append(&bed, &mut raw, who, subject, &[]).await?;
    }
    let mut witness = Witness::of(&bed).await?;
    for headers in tried {
        let said = append(&bed, &mut raw, who, subject, headers).await?;
        let code = said["error"]["err_code"].as_u64().unwrap_or_default();
        let held = witness.messages(stream).await?;
        if !codes.contains(&code) || held != Some(2) {
            return Err(format!("{headers:?}: {said}, {held:?} messages").into());
        }
    }
    Ok(Outcome::Kept)
}

const EVIL: (&str, &str) = ("evil.n1", "mesh.events.evil.x");

async fn roll_up(isolation: Isolation) -> Verdict {
    let tried: [&[_]; 2] = [&[("Nats-Rollup", "all")], &[("Nats-Rollup", "sub")]];
    let codes = [10111];
    let host = ("host.n1", "mesh.control.n1.report");
    kept(isolation, host, "CONTROL", &tried, &codes).await?;
    let enrolment = ("enrol.t1", "mesh.control.enrol");
    kept(isolation, enrolment, "CONTROL", &tried, &codes).await?;
    kept(isolation, EVIL, "EVENTS", &tried, &codes).await
}

async fn expire(isolation: Isolation) -> Verdict {
    let tried: [&[_]; 2] = [&[("Nats-TTL", "1s")], &[("Nats-TTL", "never")]];
    kept(isolation, EVIL, "EVENTS", &tried, &[10166]).await
}

async fn schedule(isolation: Isolation) -> Verdict {
    let tried: [&[_]; 1] = [&[
        ("Nats-Schedule", "@at 2030-01-01T00:00:00Z"),
        ("Nats-Schedule-Target", "mesh.events.svc.made"),
    ]];
    kept(isolation, EVIL, "EVENTS", &tried, &[10188]).await
}

async fn batch(isolation: Isolation) -> Verdict {
    let tried: [&[_]; 1] =
        [&[("Nats-Batch-Id", "1"), ("Nats-Batch-Sequence", "1"), ("Nats-Batch-Commit", "1")]];
    kept(isolation, EVIL, "EVENTS", &tried, &[10174]).await
}

async fn count(isolation: Isolation) -> Verdict {
    kept(isolation, EVIL, "EVENTS", &[&[("Nats-Incr", "+1")]], &[10168]).await
}

/// The server sends a trace where the header says, once it has looked whether its sender may publish there.
async fn trace(isolation: Isolation) -> Verdict {
    let bed = bed(isolation).await?;
    let mut raw = bed.raw("evil.n1").await?;
    for subject in ["mesh.events.evil.x", CALLED] {
        for target in [
            "mesh.node.n2.declare",
            "mesh.tools.svc.provision_grant",
            "mesh.deliver.EVENTS.n1_svc",
            "mesh.events.svc.made",
            "_INBOX.svc.n1.ack.00000000000000000000000000000001",
            "$JS.API.STREAM.DELETE.EVENTS",
        ] {
            let headers = [("Nats-Trace-Dest", target), ("Nats-Trace-Only", "true")];
            raw.publish(subject, None, &headers, b"{}").await?;
            let errors = raw.settle().await?.errors;
            if errors != [no_publish(target)] {
                return Err(format!("{subject} traced to {target}: {errors:?}").into());
            }
        }
    }
    Ok(Outcome::Refused)
}

/// Its own echo it may publish, so there it hears who was given what it sent, by the connection's name.
async fn trace_at_itself(isolation: Isolation) -> Verdict {
    let bed = bed(isolation).await?;
    let svc = bed.connect("svc.n1").await?;
    let _calls = svc.requests()?.serve(filter(CALLED), ServeOptions::default()).await?;
    let mut raw = bed.raw("evil.n1").await?;
    raw.subscribe("_INBOX.evil.n1.>", None).await?;
    let headers = [("Nats-Trace-Dest", "_INBOX.evil.n1.echo.1"), ("Nats-Trace-Only", "true")];
    raw.publish(CALLED, None, &headers, b"{}").await?;
    let heard: Value = serde_json::from_slice(&raw.next().await?.body)?;
    let mut given = heard["events"].as_array().into_iter().flatten();
    match given.find(|event| event["type"] == "eg") {
        Some(event) if event["name"] == "module svc on n1" => Ok(Outcome::Succeeds),
        Some(event) => Err(event.to_string().into()),
        None => Ok(Outcome::Nowhere),
    }
}

const CALLED: &str = "mesh.tools.svc.echo";
