//! Headers that are none. The server passes them on as they are, and the client library ends its
//! connection when it can't read them: the victim comes back by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mesh_core::identity::Responder;
use mesh_core::port::{Connection, ConnectionState, ConsumeOptions, ErrorKind, ReceiveError};
use mesh_core::topology::StreamName;
use mesh_testkit::fixtures::{consumer, filter, message, module_name};
use mesh_testkit::servers::nats::RawNats;
use serde_json::Value;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Mode, PATIENCE, Setup, Started};
use crate::steps::{Witness, in_time, quick, until};
use crate::victim::{emit, emit_as, given, handling, header_of};

pub const ATTACKS: &[Attack] = &[
    attack!(emit_headers_that_are_no_text, by "a module",
        "emits an event with a header that is not UTF-8"),
    attack!(emit_a_header_without_a_colon, by "a module",
        "emits an event with a header line without a colon"),
    attack!(emit_a_header_without_a_name, by "a module",
        "emits an event with a header whose name has a space"),
    attack!(emit_headers_of_another_version, by "a module",
        "emits an event whose headers don't begin with NATS/1.0"),
    attack!(emit_in_front_of_another, by "a module",
        "emits such an event while the consumer is away and another's event follows: that one ends as a dead letter, unread"),
    attack!(call_with_headers_that_are_none, by "a module that may call the tool",
        "calls it with a header line without a colon", answers),
    attack!(answer_with_headers_that_are_none, by "a module that serves",
        "answers so", answers),
    attack!(live_with_headers_that_are_none, by "a host",
        "says so that it is alive"),
    attack!(report_with_headers_that_are_none, by "a host",
        "reports so"),
    attack!(enrol_with_headers_that_are_none, by "an enrolment",
        "enrols so"),
];

const TEXT: &[u8] = b"NATS/1.0\r\nx-event-id: \xff\xfe\r\n\r\n";
const COLON: &[u8] = b"NATS/1.0\r\nno colon\r\n\r\n";
const NAME: &[u8] = b"NATS/1.0\r\nx y: z\r\n\r\n";
const STATUS: &[u8] = b"NATS/1.0 none\r\na: b\r\n\r\n";
const VERSION: &[u8] = b"NATS/9.9\r\na: b\r\n\r\n";

/// Publishes with this for headers.
async fn poison(raw: &mut RawNats, subject: &str, reply: &str, head: &[u8]) -> Started<()> {
    let (headers, size) = (head.len(), head.len() + 2);
    let line = format!("HPUB {subject} {reply} {headers} {size}\r\n");
    raw.send([line.as_bytes(), head, b"{}\r\n"].concat()).await?;
    match raw.settle().await?.errors.as_slice() {
        [] => Ok(()),
        errors => Err(format!("{errors:?}").into()),
    }
}

/// Whether the connection was ever lost from now on.
fn losses(connection: &Connection) -> Arc<AtomicBool> {
    let lost = Arc::new(AtomicBool::new(false));
    let (mut states, seen) = (connection.transport().states(), Arc::clone(&lost));
    tokio::spawn(async move {
        while let Some(state) = states.next().await {
            if matches!(state, ConnectionState::Disconnected(_)) {
                seen.store(true, Ordering::Relaxed);
            }
        }
    });
    lost
}

fn survived(lost: &AtomicBool) -> Verdict {
    Ok(if lost.load(Ordering::Relaxed) { Outcome::Survived } else { Outcome::Ignored })
}

async fn emits(mode: Mode, head: &[u8]) -> Verdict {
    let bed = Bed::with(Setup::of(mode), quick).await?;
    let _keeper = bed.keep_dead_letters().await?;
    let (svc, mut handled) = handling(&bed).await?;
    let lost = losses(&svc.connection);
    let mut raw = bed.raw("evil.n1").await?;
    emit(&mut raw, "evil", "before", &[]).await?;
    assert_eq!(given(&mut handled).await?, "before");
    poison(&mut raw, "mesh.events.evil.x", "", head).await?;
    let mut witness = Witness::of(&bed).await?;
    let dead =
        until("a dead letter", async || witness.last("EVENTS_DEAD", "mesh.events.dead").await);
    let dead = dead.await?;
    names_its_consumer(&dead, "n1_svc")?;
    emit(&mut raw, "evil", "after", &[]).await?;
    assert_eq!(given(&mut handled).await?, "after");
    survived(&lost)
}

/// A dead letter of that consumer for what could not be read.
fn names_its_consumer(dead: &Value, consumer: &str) -> Started<()> {
    let headers = String::from_utf8(header_of(dead)?)?;
    let consumer = format!("x-dead-consumer: {consumer}\r\n");
    let says = |line: &str| headers.contains(line);
    // What of it can be read is kept, and else a reference to it.
    let reason =
        ["undecodable", "max-deliver"].map(|reason| format!("x-dead-reason: {reason}\r\n"));
    if reason.iter().any(|reason| says(reason)) && says(&consumer) {
        return Ok(());
    }
    Err(format!("another dead letter: {headers}").into())
}

async fn emit_headers_that_are_no_text(mode: Mode) -> Verdict {
    emits(mode, TEXT).await
}

async fn emit_a_header_without_a_colon(mode: Mode) -> Verdict {
    emits(mode, COLON).await
}

async fn emit_a_header_without_a_name(mode: Mode) -> Verdict {
    emits(mode, NAME).await
}

/// Two events wait when the victim comes: the first ends its connection before it has read the second.
/// Both come together again; one try is enough to see it.
async fn emit_in_front_of_another(mode: Mode) -> Verdict {
    let once = |topology| {
        let mut topology = quick(topology);
        for mut spec in topology.consumers().to_vec() {
            spec.rules.max_deliver = spec.rules.max_deliver.map(|_| 1);
            topology = topology.with_consumer(spec);
        }
        topology
    };
    let bed = Bed::with(Setup::of(mode), once).await?;
    let _keeper = bed.keep_dead_letters().await?;
    let mut raw = bed.raw("evil.n1").await?;
    poison(&mut raw, "mesh.events.evil.x", "", COLON).await?;
    let mut proper = bed.raw("mute.n1").await?;
    emit_as(&mut proper, "mesh.events.mute.y", "mute", "proper", &[]).await?;
    let (svc, mut handled) = handling(&bed).await?;
    let lost = losses(&svc.connection);
    let mut witness = Witness::of(&bed).await?;
    let mut given = false;
    let settled = until("an end of both", async || {
        let owed = witness.consumer("EVENTS", "n1_svc").await?.ok_or("no consumer")?;
        let left = owed["num_ack_pending"].as_u64();
        let held = witness.messages("EVENTS_DEAD").await?;
        given |= handled.try_recv().is_ok();
        let ended = held.unwrap_or_default() + u64::from(given);
        Ok((left == Some(0) && ended == 2).then_some(held))
    });
    let settled = settled.await?;
    if survived(&lost)? != Outcome::Survived {
        return Err("the connection was never lost".into());
    }
    match settled {
        // Never handled, and a dead letter all the same.
        Some(2) => Ok(Outcome::Succeeds),
        _ => Ok(Outcome::Survived),
    }
}

async fn emit_headers_of_another_version(mode: Mode) -> Verdict {
    emits(mode, VERSION).await
}

const ECHO: &str = "mesh.tools.svc.echo";

/// How long a call may take that is made again when it was lost with a connection.
const A_WHILE: Duration = Duration::from_secs(2);

async fn ask(
    caller: &Connection,
    body: &str,
    span: Duration,
) -> Started<Result<bytes::Bytes, ErrorKind>> {
    let svc = Responder::Module(module_name("svc"));
    let asked = caller.requests()?.request(svc, message(ECHO, body), span).await;
    Ok(asked.map(|answer| answer.payload().clone()).map_err(|error| error.kind()))
}

async fn call_with_headers_that_are_none(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (svc, _handled) = handling(&bed).await?;
    let lost = losses(&svc.connection);
    let bob = bed.connect("person.bob").await?;
    let mut raw = bed.raw("evil.n1").await?;
    let reply = "_INBOX.evil.n1.svc.00000000000000000000000000000001";
    for head in [TEXT, COLON, NAME, STATUS, VERSION] {
        lost.store(false, Ordering::Relaxed);
        poison(&mut raw, ECHO, reply, head).await?;
        until("an answer", async || Ok(ask(&bob, "\"proper\"", A_WHILE).await?.ok())).await?;
        if survived(&lost)? != Outcome::Survived {
            return Err(format!("{} was read", String::from_utf8_lossy(head)).into());
        }
    }
    Ok(Outcome::Survived)
}

async fn answer_with_headers_that_are_none(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut sly = bed.raw("svc.n1").await?;
    sly.subscribe(ECHO, Some("serve")).await?;
    sly.settle().await?;
    let bob = bed.connect("person.bob").await?;
    let lost = losses(&bob);
    let answering = async {
        let reply = sly.next().await?.reply.ok_or("no reply address")?;
        poison(&mut sly, &reply, "", COLON).await
    };
    let (asked, answered) = tokio::join!(ask(&bob, "1", PATIENCE), answering);
    answered?;
    // At once, and not as if nobody had answered in time.
    if asked? != Err(ErrorKind::Disconnected) {
        return Ok(Outcome::Ignored);
    }
    let answering = async {
        let reply = sly.next().await?.reply.ok_or("no reply address")?;
        Started::Ok(sly.publish(&reply, None, &[], b"2").await?)
    };
    let (asked, answered) = tokio::join!(ask(&bob, "2", PATIENCE), answering);
    answered?;
    assert_eq!(asked?, Ok("2".into()));
    survived(&lost)
}

async fn live_with_headers_that_are_none(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let lost = losses(&bed.controller);
    let alive = filter("mesh.control.*.alive");
    let mut heard = bed.controller.transport().subscribe(alive, Default::default()).await?;
    let mut raw = bed.raw("host.n1").await?;
    poison(&mut raw, "mesh.control.n1.alive", "", COLON).await?;
    match in_time("a word", heard.next()).await? {
        Some(Err(ReceiveError::Interrupted)) => {}
        other => return Err(format!("instead of an interruption: {other:?}").into()),
    }
    let mut proper = bed.raw("host.n2").await?;
    until("a sign of life", async || {
        proper.publish("mesh.control.n2.alive", None, &[], b"{}").await?;
        let next = tokio::time::timeout(Duration::from_millis(100), heard.next());
        Ok(matches!(next.await, Ok(Some(Ok(_)))).then_some(()))
    })
    .await?;
    survived(&lost)
}

/// The control queue gives one message at a time, and each until it is settled.
async fn reports(mode: Mode, who: &str, subject: &str) -> Verdict {
    let bed = Bed::with(Setup::of(mode), quick).await?;
    let lost = losses(&bed.controller);
    let mut raw = bed.raw(who).await?;
    let mut proper = bed.raw("host.n2").await?;
    // Once while nobody reads, and once while somebody does.
    poison(&mut raw, subject, "", COLON).await?;
    let mut queue = until("the queue", async || {
        let queue = consumer(StreamName::Control, "controller");
        let reading = bed.controller.streams()?.consume(queue, ConsumeOptions::default()).await;
        match reading {
            Err(error) if error.may_retry() => Ok(None),
            reading => Ok(Some(reading?)),
        }
    })
    .await?;
    for body in ["first", "second"] {
        proper.publish("mesh.control.n2.report", None, &[], body.as_bytes()).await?;
        match in_time("a report", queue.next()).await? {
            Some(Ok(report)) if report.message().payload() == body => report.ack().await?,
            other => return Err(format!("instead of a report: {other:?}").into()),
        }
        if body == "first" {
            poison(&mut raw, subject, "", TEXT).await?;
        }
    }
    // They are out of the way for good.
    let mut witness = Witness::of(&bed).await?;
    if witness.messages("EVENTS_DEAD").await? != Some(2) {
        return Err("not each is a dead letter".into());
    }
    let dead = witness.last("EVENTS_DEAD", "mesh.events.dead").await?.ok_or("no dead letter")?;
    names_its_consumer(&dead, "controller")?;
    until("the end of the reports", async || {
        Ok((witness.messages("CONTROL").await? == Some(0)).then_some(()))
    })
    .await?;
    survived(&lost)
}

async fn report_with_headers_that_are_none(mode: Mode) -> Verdict {
    reports(mode, "host.n1", "mesh.control.n1.report").await
}

async fn enrol_with_headers_that_are_none(mode: Mode) -> Verdict {
    reports(mode, "enrol.t1", "mesh.control.enrol").await
}
