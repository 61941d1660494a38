//! The server confirms what is appended, at the reply address, which it does not check: whoever may
//! append may have that message, whose text is not its own, sent anywhere in its account.

use serde_json::Value;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Mode, Setup, Started, TAP};
use crate::steps::{Witness, aim_confirmation, mark};

pub const ATTACKS: &[Attack] = &[
    attack!(aim_a_confirmation_at_a_declaration, by "a module",
        "has the stream's confirmation of its event sent where a declaration is"),
    attack!(aim_a_confirmation_at_a_new_node, by "a module",
        "the same, where no declaration is yet"),
    attack!(aim_a_confirmation_at_a_report, by "a module",
        "the same, as a host's report"),
    attack!(aim_a_confirmation_at_an_enrolment, by "a module",
        "the same, as an enrolment"),
    attack!(aim_a_confirmation_at_a_literal_import, by "a module",
        "the same, where EDGE imports that very subject beside `mesh.control.*`"),
    attack!(aim_a_confirmation_at_an_event, by "a module",
        "the same, as another's event"),
    attack!(aim_a_confirmation_at_a_replay, by "a module",
        "the same, as a replay to another's consumer"),
    attack!(aim_a_confirmation_at_the_dead_letters, by "a module",
        "the same, as a dead letter"),
    attack!(aim_a_confirmation_at_a_build, by "a module",
        "the same, as a build request"),
    attack!(aim_a_confirmation_at_a_streams_end, by "a module",
        "the same, at the API that deletes a stream"),
    attack!(aim_a_confirmation_at_a_purge, by "a module",
        "the same, at the API that empties a stream"),
    attack!(aim_a_confirmation_at_a_purge_of_a_lenient_server, by "a module",
        "the same, where the server's strict mode is off"),
    attack!(aim_a_confirmation_at_a_consumers_end, by "a module",
        "the same, at the API that deletes another's consumer"),
];

/// Aims a confirmation at a subject that `stream` takes. It is processed before the attacker's next
/// append is confirmed, so whether it was stored shows in the number of the mark after it.
async fn at_a_stream(
    bed: &Bed,
    witness: &mut Witness,
    stream: &str,
    target: &str,
) -> Started<Outcome> {
    let before = mark(bed, witness, stream).await?;
    let mut raw = bed.raw("evil.n1").await?;
    aim_confirmation(bed, &mut raw, "evil.n1", "mesh.events.evil.x", target).await?;
    let own = if stream == "EVENTS" { 2 } else { 0 };
    let after = mark(bed, witness, stream).await?;
    match after - before - own {
        1 => Ok(Outcome::Nowhere),
        2 => Ok(Outcome::Succeeds),
        other => Err(format!("{other} messages between two marks").into()),
    }
}

async fn stored(mode: Mode, stream: &str, target: &str) -> Verdict {
    let bed = bed(mode).await?;
    let mut witness = Witness::of(&bed).await?;
    at_a_stream(&bed, &mut witness, stream, target).await
}

async fn aim_a_confirmation_at_a_declaration(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut witness = Witness::of(&bed).await?;
    let declared = witness.declare("n2", "declared").await?;
    let outcome = at_a_stream(&bed, &mut witness, "NODES", "mesh.node.n2.declare").await?;
    let last = witness.last("NODES", "mesh.node.n2.declare").await?.ok_or("it is gone")?;
    if last["seq"] != declared["seq"] {
        return Ok(Outcome::Succeeds);
    }
    // In one account nothing stands between but the stream, which takes it where nothing was declared.
    Ok(if bed.is_split() { outcome } else { Outcome::Kept })
}

async fn aim_a_confirmation_at_a_new_node(mode: Mode) -> Verdict {
    stored(mode, "NODES", "mesh.node.n2.declare").await
}

async fn aim_a_confirmation_at_a_report(mode: Mode) -> Verdict {
    stored(mode, "CONTROL", "mesh.control.n2.report").await
}

async fn aim_a_confirmation_at_an_enrolment(mode: Mode) -> Verdict {
    stored(mode, "CONTROL", "mesh.control.enrol").await
}

/// Why the layout imports with wildcards alone.
async fn aim_a_confirmation_at_a_literal_import(mode: Mode) -> Verdict {
    const ENROL: &str = "mesh.control.enrol";
    let bed = Bed::start(Setup { service: Some(ENROL), ..Setup::of(mode) }).await?;
    let mut witness = Witness::of(&bed).await?;
    at_a_stream(&bed, &mut witness, "CONTROL", ENROL).await
}

async fn aim_a_confirmation_at_an_event(mode: Mode) -> Verdict {
    stored(mode, "EVENTS", "mesh.events.svc.made").await
}

async fn aim_a_confirmation_at_a_replay(mode: Mode) -> Verdict {
    stored(mode, "EVENTS", "mesh.replay.n1_svc.evil.x").await
}

async fn aim_a_confirmation_at_the_dead_letters(mode: Mode) -> Verdict {
    stored(mode, "EVENTS_DEAD", "mesh.events.dead").await
}

async fn aim_a_confirmation_at_a_build(mode: Mode) -> Verdict {
    stored(mode, "BUILDS", "mesh.build.request").await
}

/// Aims a confirmation at a call of the API, which it handles at once, and looks for the server's record
/// of that call.
async fn at_the_api(setup: Setup, call: &str) -> Started<(Bed, Option<Value>)> {
    let bed = Bed::start(setup).await?;
    let mut tap = bed.raw(TAP).await?;
    tap.subscribe("$JS.EVENT.ADVISORY.API", None).await?;
    tap.settle().await?;
    let mut raw = bed.raw("evil.n1").await?;
    let target = format!("$JS.API.{call}");
    aim_confirmation(&bed, &mut raw, "evil.n1", "mesh.events.evil.x", &target).await?;
    let records = tap.settle().await?.messages;
    let records: Result<Vec<Value>, _> =
        records.iter().map(|record| serde_json::from_slice(&record.body)).collect();
    let found = records?.into_iter().find(|record| record["subject"] == target.as_str());
    Ok((bed, found))
}

/// The API's answer to a call that it was made to get: its error's number.
async fn refused_by_the_api(mode: Mode, call: &str, code: u64) -> Verdict {
    let (bed, record) = at_the_api(Setup::of(mode), call).await?;
    let mut witness = Witness::of(&bed).await?;
    let whole = witness.messages("EVENTS").await? == Some(2)
        && witness.consumer("EVENTS", "n1_svc").await?.is_some();
    let Some(record) = record else {
        return if whole { Ok(Outcome::Nowhere) } else { Err("it worked without a record".into()) };
    };
    let response: Value = serde_json::from_str(record["response"].as_str().unwrap_or_default())?;
    match response["error"]["err_code"].as_u64() {
        Some(found) if found == code && whole => Ok(Outcome::Kept),
        None if !whole => Ok(Outcome::Succeeds),
        _ => Err(record.to_string().into()),
    }
}

const WANTS_NO_BODY: u64 = 10038;
const UNKNOWN_FIELD: u64 = 10025;

async fn aim_a_confirmation_at_a_streams_end(mode: Mode) -> Verdict {
    refused_by_the_api(mode, "STREAM.DELETE.EVENTS", WANTS_NO_BODY).await
}

async fn aim_a_confirmation_at_a_purge(mode: Mode) -> Verdict {
    refused_by_the_api(mode, "STREAM.PURGE.EVENTS", UNKNOWN_FIELD).await
}

async fn aim_a_confirmation_at_a_consumers_end(mode: Mode) -> Verdict {
    refused_by_the_api(mode, "CONSUMER.DELETE.EVENTS.n1_svc", WANTS_NO_BODY).await
}

/// A purge up to a number: the confirmation names a stream, which strict mode refuses, and its number.
async fn aim_a_confirmation_at_a_purge_of_a_lenient_server(mode: Mode) -> Verdict {
    // Of all streams NODES alone may be purged: its roll-up needs that.
    let setup = Setup { strict: false, ..Setup::of(mode) };
    let (_bed, record) = at_the_api(setup, "STREAM.PURGE.NODES").await?;
    let Some(record) = record else { return Ok(Outcome::Nowhere) };
    let response: Value = serde_json::from_str(record["response"].as_str().unwrap_or_default())?;
    match response["success"].as_bool() {
        Some(true) => Ok(Outcome::Succeeds),
        _ => Err(record.to_string().into()),
    }
}
