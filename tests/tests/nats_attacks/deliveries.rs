//! Deliveries of durable consumers: forged ones, and events that try to be more than events.

use mesh_core::message::PublishId;
use mesh_core::port::{AppendOptions, ConsumeOptions, Deliveries, ReceiveError, RefusalReason};
use mesh_core::topology::StreamName;
use mesh_testkit::fixtures::{consumer, message};
use serde_json::{Value, json};

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Mode, Started, TAP};
use crate::steps::{Witness, aim_confirmation, in_time, until};
use crate::victim::{body_of, emit, given, handling, header_of};

pub const ATTACKS: &[Attack] = &[
    attack!(reply_like_the_server, by "a module",
        "publishes with an acknowledgement address, or one of the server's own, as the reply", answers),
    attack!(aim_a_confirmation_at_a_delivery, by "a module",
        "has the stream's confirmation of its event sent to another's deliveries"),
    attack!(aim_an_acknowledgements_answer_at_a_delivery, by "a module",
        "the same with the answer to its `+WPI`"),
    attack!(deliver_by_another_consumer, by "whoever has the API",
        "makes a consumer of its own that delivers where another's deliveries arrive"),
    attack!(claim_another_source, by "a module",
        "emits its own event with another's name in `x-source`"),
    attack!(emit_with_a_status, by "a module",
        "emits an event with the status line of a server's own message"),
    attack!(emit_a_stall, by "a module",
        "emits an event whose headers ask the consumer's library to publish somewhere"),
    attack!(emit_twice, by "a module",
        "emits one event under two ids of the broker's"),
    attack!(steer_a_dead_letter, by "a module",
        "emits what ends as a dead letter, with headers that would send it elsewhere or keep it from being stored"),
    attack!(suppress_anothers_event, by "a module that knows the id of an event to come",
        "emits its own under that id of the broker's: the victim's append says `duplicate`"),
];

async fn reply_like_the_server(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut raw = bed.raw("evil.n1").await?;
    for reply in [
        "$JS.ACK.EVENTS.n1_svc.1.1.1.0.0",
        "$JS.ACK._.hash.EVENTS.n1_svc.1.1.1.0.0.random",
        "_R_.abcdef.abcdef",
        "$GR.1.abcdef",
        "_GR_.1.abcdef",
    ] {
        for subject in ["mesh.events.evil.x", "mesh.tools.svc.echo"] {
            raw.publish(subject, Some(reply), &[], b"{}").await?;
            let errors = raw.settle().await?.errors;
            let expected = format!("Permissions Violation for Publish with Reply of {reply:?}");
            if errors != [expected] {
                return Err(format!("{subject} with {reply}: {errors:?}").into());
            }
        }
    }
    Ok(Outcome::Refused)
}

/// What the runtime reads for `svc`.
async fn reading(bed: &Bed) -> Started<(mesh_core::port::Connection, Deliveries)> {
    let svc = bed.connect("svc.n1").await?;
    let reader = consumer(StreamName::Events, "n1_svc");
    let deliveries = svc.streams()?.consume(reader, ConsumeOptions::default()).await?;
    Ok((svc, deliveries))
}

/// The next two: the word that something was refused for its address, and the event that came after.
async fn refused_then_read(deliveries: &mut Deliveries) -> Verdict {
    match in_time("a word", deliveries.next()).await? {
        Some(Err(ReceiveError::Refused { reason: RefusalReason::ForeignAck, .. })) => {}
        other => return Err(format!("instead of a refusal: {other:?}").into()),
    }
    match in_time("a delivery", deliveries.next()).await? {
        Some(Ok(delivery)) => delivery.ack().await?,
        other => return Err(format!("instead of a delivery: {other:?}").into()),
    }
    Ok(Outcome::Ignored)
}

const DELIVERED: &str = "mesh.deliver.EVENTS.n1_svc";

async fn aim_a_confirmation_at_a_delivery(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut deliveries) = reading(&bed).await?;
    let mut raw = bed.raw("svc.n1").await?;
    // Of an event that the victim does not consume itself: what it hears is the confirmation.
    aim_confirmation(&bed, &mut raw, "svc.n1", "mesh.events.svc.made", DELIVERED).await?;
    bed.raw("evil.n1").await?.publish("mesh.events.evil.x", None, &[], b"after").await?;
    refused_then_read(&mut deliveries).await
}

async fn aim_an_acknowledgements_answer_at_a_delivery(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut deliveries) = reading(&bed).await?;
    let mut raw = bed.raw("evil.n1").await?;
    raw.publish("$JS.ACK.EVENTS.n1_evil.1.1.1.0.0", Some(DELIVERED), &[], b"+WPI").await?;
    match in_time("a word", deliveries.next()).await? {
        Some(Err(ReceiveError::Refused { reason: RefusalReason::ForeignAck, .. })) => {}
        other => return Err(format!("instead of a refusal: {other:?}").into()),
    }
    raw.publish("mesh.events.evil.x", None, &[], b"after").await?;
    match in_time("a delivery", deliveries.next()).await? {
        Some(Ok(_)) => Ok(Outcome::Ignored),
        other => Err(format!("instead of a delivery: {other:?}").into()),
    }
}

async fn deliver_by_another_consumer(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut deliveries) = reading(&bed).await?;
    let mut tap = bed.raw(TAP).await?;
    let body = json!({ "stream_name": "EVENTS", "config": {
        "durable_name": "n9_sly", "deliver_subject": DELIVERED, "deliver_group": "n1_svc",
        "ack_policy": "explicit", "filter_subject": "mesh.events.svc.made",
    }});
    let call = "$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.n9_sly";
    let made = tap.request(call, "_INBOX.tap.n9.ack.1", &[], body.to_string().as_bytes()).await?;
    if String::from_utf8_lossy(&made.body).contains("\"error\"") {
        return Ok(Outcome::Refused);
    }
    // Not one of the events that `svc` consumes.
    bed.raw("svc.n1").await?.publish("mesh.events.svc.made", None, &[], b"{}").await?;
    match in_time("a word", deliveries.next()).await? {
        Some(Err(ReceiveError::Refused { reason: RefusalReason::ForeignAck, .. })) => {
            Ok(Outcome::Ignored)
        }
        other => Err(format!("instead of a refusal: {other:?}").into()),
    }
}

async fn claim_another_source(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut handled) = handling(&bed).await?;
    let mut raw = bed.raw("evil.n1").await?;
    emit(&mut raw, "mute", "forged", &[]).await?;
    emit(&mut raw, "evil", "proper", &[]).await?;
    if given(&mut handled).await? != "proper" {
        return Ok(Outcome::Succeeds);
    }
    // The server tells the controller why it was given up.
    let notice = "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.EVENTS.n1_svc";
    let mut witness = Witness::of(&bed).await?;
    let told = until("a notice", async || witness.last("ADVISORIES", notice).await).await?;
    match serde_json::from_slice::<Value>(&body_of(&told)?)?["reason"].as_str() {
        Some(reason) if reason.starts_with("unverifiable:") => Ok(Outcome::Ignored),
        other => Err(format!("the reason is {other:?}").into()),
    }
}

/// Headers of the server's own messages, below a status line that an event has not.
async fn emit_with_a_status(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut handled) = handling(&bed).await?;
    let mut raw = bed.raw("evil.n1").await?;
    for (status, id) in [("503", "a"), ("100 Idle Heartbeat", "b"), ("409 Consumer Deleted", "c")] {
        let head = format!(
            "NATS/1.0 {status}\r\nx-event-id: {id}\r\nx-source: evil\r\nx-node: n1\r\n\
             x-time: 2026-01-02T03:04:05.678Z\r\ncontent-type: application/json\r\n\r\n"
        );
        let (head, all) = (head.len(), format!("{head}{{}}"));
        let size = all.len();
        raw.send(format!("HPUB mesh.events.evil.x {head} {size}\r\n{all}\r\n")).await?;
        if given(&mut handled).await? != id {
            return Err("another event".into());
        }
    }
    emit(&mut raw, "evil", "after", &[]).await?;
    Ok(if given(&mut handled).await? == "after" { Outcome::Ignored } else { Outcome::Succeeds })
}

/// A library's push consumer publishes to what a heartbeat names, so that it is sent more.
async fn emit_a_stall(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut handled) = handling(&bed).await?;
    // `svc` may call it, so that the server would let such a message through.
    let mut db = bed.raw("db.n1").await?;
    db.subscribe("mesh.tools.db.drop", Some("serve")).await?;
    db.settle().await?;
    let mut raw = bed.raw("evil.n1").await?;
    for name in ["Nats-Consumer-Stalled", "Nats-Last-Consumer", "Nats-Flow-Control"] {
        emit(&mut raw, "evil", name, &[(name, "mesh.tools.db.drop")]).await?;
        if given(&mut handled).await? != name {
            return Err("another event".into());
        }
    }
    emit(&mut raw, "evil", "after", &[]).await?;
    given(&mut handled).await?;
    Ok(if db.settle().await?.messages.is_empty() { Outcome::Ignored } else { Outcome::Succeeds })
}

async fn emit_twice(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut handled) = handling(&bed).await?;
    let mut raw = bed.raw("evil.n1").await?;
    for (id, broker_id) in [("same", "1"), ("same", "2"), ("other", "3")] {
        emit(&mut raw, "evil", id, &[("Nats-Msg-Id", broker_id)]).await?;
    }
    let (first, second) = (given(&mut handled).await?, given(&mut handled).await?);
    let mut witness = Witness::of(&bed).await?;
    match (witness.messages("EVENTS").await?, first.as_str(), second.as_str()) {
        (Some(3), "same", "other") | (Some(3), "other", "same") => Ok(Outcome::Ignored),
        (Some(3), "same", "same") => Ok(Outcome::Succeeds),
        other => Err(format!("{other:?}").into()),
    }
}

/// What would break the letter's append, or say that it is another's, is not carried over.
async fn steer_a_dead_letter(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let _keeper = bed.keep_dead_letters().await?;
    let (_svc, _handled) = handling(&bed).await?;
    let mut raw = bed.raw("evil.n1").await?;
    let sly = [
        ("x-dead-consumer", "n2_evil"),
        ("X-Dead-Subject", "mesh.events.svc.made"),
        ("x-dead-sequence", "7"),
        ("x-dead-deliveries", "77"),
        ("x-dead-reason", "sly"),
        ("X-DEAD-ERROR", "sly"),
        ("x-dead-time", "sly"),
        ("x-dead-anything", "sly"),
        ("Nats-Expected-Stream", "EVENTS"),
        ("nats-expected-last-sequence", "99"),
    ];
    // Its source is another's, so it is given up.
    emit(&mut raw, "mute", "sly", &sly).await?;
    let mut witness = Witness::of(&bed).await?;
    let dead = "mesh.events.dead";
    let dead = until("a dead letter", async || witness.last("EVENTS_DEAD", dead).await).await?;
    let headers = String::from_utf8(header_of(&dead)?)?;
    let lines = |start: &str| {
        let start = start.to_ascii_lowercase();
        let of = headers.lines().filter(|line| line.to_ascii_lowercase().starts_with(&start));
        of.map(str::to_owned).collect::<Vec<_>>()
    };
    let whole = lines("x-dead-consumer:") == ["x-dead-consumer: n1_svc"]
        && lines("x-dead-subject:") == ["x-dead-subject: mesh.events.evil.x"]
        && lines("x-dead-sequence:") == ["x-dead-sequence: 1"]
        && lines("x-dead-deliveries:") == ["x-dead-deliveries: 1"]
        && lines("x-dead-reason:") == ["x-dead-reason: unverifiable"]
        && lines("x-dead-").iter().all(|line| !line.ends_with("sly"))
        && lines("nats-expected").is_empty();
    if whole { Ok(Outcome::Ignored) } else { Err(headers.into()) }
}

/// Ids hold as many random bits as nobody guesses. Where one is known all the same, the victim is told.
async fn suppress_anothers_event(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut raw = bed.raw("evil.n1").await?;
    let id = "n1.svc.0194f2d4-0000-7000-8000-000000000000";
    emit(&mut raw, "evil", "a", &[("Nats-Msg-Id", id)]).await?;
    let svc = bed.connect("svc.n1").await?;
    let options = AppendOptions { id: Some(PublishId::new(id)?), ..AppendOptions::default() };
    let made = message("mesh.events.svc.made", "{}");
    let appended = svc.streams()?.append(made, options).await?;
    let mut witness = Witness::of(&bed).await?;
    let stored = witness.last("EVENTS", "mesh.events.svc.made").await?.is_some();
    // `Broker::publish` makes an error of that on its first attempt.
    match (appended.duplicate, stored) {
        (true, false) => Ok(Outcome::Survived),
        (false, true) => Ok(Outcome::Ignored),
        other => Err(format!("{other:?}").into()),
    }
}
