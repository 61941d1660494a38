//! Headers by which a stream or the server would do more than store and pass on.

use mesh_core::port::ServeOptions;
use mesh_testkit::fixtures::filter;
use serde_json::Value;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::Mode;
use crate::steps::{Witness, append, no_publish};

pub const ATTACKS: &[Attack] = &[
    attack!(roll_up, by "a module, a host, an enrolment",
        "asks for what is stored to be rolled up: its subject, and everything"),
    attack!(expect, by "a module",
        "has its event stored only where the stream is as its headers say, which is not so"),
    attack!(learn_by_expecting, by "a module",
        "has a header ask for the last number of another's event: the refusal says it"),
    attack!(expire, by "a module",
        "gives its event a time to live"),
    attack!(schedule, by "a module",
        "has its event published again later as another's"),
    attack!(batch, by "a module",
        "publishes a batch that is stored at once"),
    attack!(count, by "a module",
        "makes its event a counter"),
    attack!(trace, by "a module",
        "has the server's trace of its event or call sent to what it may not publish to"),
    attack!(trace_at_itself, by "a module",
        "has it sent to itself, and learns on which node the tool is served"),
];

/// An append with these headers is refused with one of these numbers, and nothing is stored or gone.
async fn kept(
    mode: Mode,
    (who, subject): (&str, &str),
    stream: &str,
    tried: &[&[(&str, &str)]],
    codes: &[u64],
) -> Verdict {
    let bed = bed(mode).await?;
    let mut raw = bed.raw(who).await?;
    for _ in 0..2 {
        append(&bed, &mut raw, who, subject, &[], b"{}").await?;
    }
    let mut witness = Witness::of(&bed).await?;
    for headers in tried {
        let said = append(&bed, &mut raw, who, subject, headers, b"{}").await?;
        let code = said["error"]["err_code"].as_u64().unwrap_or_default();
        let held = witness.messages(stream).await?;
        if !codes.contains(&code) || held != Some(2) {
            return Err(format!("{headers:?}: {said}, {held:?} messages").into());
        }
    }
    Ok(Outcome::Kept)
}

const EVIL: (&str, &str) = ("evil.n1", "mesh.events.evil.x");

async fn roll_up(mode: Mode) -> Verdict {
    let tried: [&[_]; 2] = [&[("Nats-Rollup", "all")], &[("Nats-Rollup", "sub")]];
    let codes = [10111];
    let host = ("host.n1", "mesh.control.n1.report");
    kept(mode, host, "CONTROL", &tried, &codes).await?;
    let enrolment = ("enrol.t1", "mesh.control.enrol");
    kept(mode, enrolment, "CONTROL", &tried, &codes).await?;
    kept(mode, EVIL, "EVENTS", &tried, &codes).await
}

async fn expect(mode: Mode) -> Verdict {
    let tried: [&[_]; 4] = [
        &[("Nats-Expected-Stream", "NODES")],
        &[("Nats-Expected-Last-Sequence", "77")],
        &[("Nats-Expected-Last-Subject-Sequence", "77")],
        &[("Nats-Expected-Last-Msg-Id", "another")],
    ];
    kept(mode, EVIL, "EVENTS", &tried, &[10060, 10070, 10071]).await
}

async fn learn_by_expecting(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut svc = bed.raw("svc.n1").await?;
    append(&bed, &mut svc, "svc.n1", "mesh.events.svc.made", &[], b"{}").await?;
    let mut raw = bed.raw("evil.n1").await?;
    let headers = [
        ("Nats-Expected-Last-Subject-Sequence", "0"),
        ("Nats-Expected-Last-Subject-Sequence-Subject", "mesh.events.svc.made"),
    ];
    let said = append(&bed, &mut raw, EVIL.0, EVIL.1, &headers, b"{}").await?;
    match said["error"]["description"].as_str() {
        Some(told) if told.ends_with(": 1") => Ok(Outcome::Succeeds),
        Some(_) => Ok(Outcome::Kept),
        None => Ok(Outcome::Nowhere),
    }
}

async fn expire(mode: Mode) -> Verdict {
    let tried: [&[_]; 2] = [&[("Nats-TTL", "1s")], &[("Nats-TTL", "never")]];
    kept(mode, EVIL, "EVENTS", &tried, &[10166]).await
}

async fn schedule(mode: Mode) -> Verdict {
    let tried: [&[_]; 1] = [&[
        ("Nats-Schedule", "@at 2030-01-01T00:00:00Z"),
        ("Nats-Schedule-Target", "mesh.events.svc.made"),
    ]];
    kept(mode, EVIL, "EVENTS", &tried, &[10188]).await
}

async fn batch(mode: Mode) -> Verdict {
    let tried: [&[_]; 1] =
        [&[("Nats-Batch-Id", "1"), ("Nats-Batch-Sequence", "1"), ("Nats-Batch-Commit", "1")]];
    kept(mode, EVIL, "EVENTS", &tried, &[10174]).await
}

async fn count(mode: Mode) -> Verdict {
    kept(mode, EVIL, "EVENTS", &[&[("Nats-Incr", "+1")]], &[10168]).await
}

/// The server sends a trace where the header says, once it has looked whether its sender may publish there.
async fn trace(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
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
async fn trace_at_itself(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
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
