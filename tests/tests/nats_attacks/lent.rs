//! Rights to answer that one attacker gives another: whoever may answer wherever it is asked to needs only
//! somebody who asks.

use mesh_core::message::Headers;
use mesh_testkit::servers::nats::RawNats;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::calls::{GRANT, serve};
use crate::split::{Bed, Mode, Started};
use crate::steps::{Witness, in_time, no_publish};
use crate::victim::event_headers;

pub const ATTACKS: &[Attack] = &[
    attack!(emit_with_a_lent_answer, by "a module that serves, with a person who may call it",
        "has itself called with another's event as the reply address, and publishes that event there", answers),
    attack!(call_with_a_lent_answer, by "a module that serves, with a person who may call it",
        "the same with a tool that neither may call: it is answered in the attacker's own inbox", answers),
    attack!(grant_with_a_lent_answer, by "a module that serves, with a person who may call it",
        "the same with a provider's grant, and the controller's inbox as the reply address", answers),
];

const TRAP: &str = "mesh.tools.evil.trap";

/// `evil` with its own inbox, asked by `bob` to answer at `target`.
async fn asked(bed: &Bed, target: &str) -> Started<RawNats> {
    let mut evil = bed.raw("evil.n1").await?;
    evil.subscribe(TRAP, Some("serve")).await?;
    evil.settle().await?;
    bed.raw("person.bob").await?.publish(TRAP, Some(target), &[], b"{}").await?;
    evil.next().await?;
    evil.subscribe("_INBOX.evil.n1.>", None).await?;
    Ok(evil)
}

/// Publishes at the address that it was asked to answer at; says whether the server let it through.
async fn publishes(
    evil: &mut RawNats,
    target: &str,
    reply: Option<&str>,
    headers: &[(&str, &str)],
) -> Started<bool> {
    evil.publish(target, reply, headers, b"{}").await?;
    match evil.settle().await?.errors.as_slice() {
        [] => Ok(true),
        [refusal] if *refusal == no_publish(target) => Ok(false),
        other => Err(format!("{other:?}").into()),
    }
}

async fn emit_with_a_lent_answer(mode: Mode) -> Verdict {
    const FORGED: &str = "mesh.events.svc.made";
    let bed = bed(mode).await?;
    let mut evil = asked(&bed, FORGED).await?;
    if !publishes(&mut evil, FORGED, None, &event_headers("svc", "forged")).await? {
        return Ok(Outcome::Refused);
    }
    let mut witness = Witness::of(&bed).await?;
    // The stream takes what is published after it later.
    witness.append("mesh.replay.n9_mark.a.b", "mark").await?;
    let stored = witness.last("EVENTS", FORGED).await?;
    Ok(if stored.is_some() { Outcome::Succeeds } else { Outcome::Nowhere })
}

async fn call_with_a_lent_answer(mode: Mode) -> Verdict {
    const TOOL: &str = "mesh.tools.db.wipe";
    let bed = bed(mode).await?;
    let (_db, mut calls) = serve(&bed, "db.n1", TOOL).await?;
    let mut evil = asked(&bed, TOOL).await?;
    let own = "_INBOX.evil.n1.db.00000000000000000000000000000001";
    if !publishes(&mut evil, TOOL, Some(own), &[]).await? {
        return Ok(Outcome::Refused);
    }
    match in_time("a call", calls.next()).await? {
        Some(Ok(call)) => call.answer(Headers::default(), "wiped".into()).await?,
        other => return Err(format!("instead of a call: {other:?}").into()),
    }
    let answer = evil.next().await?;
    if answer.body == b"wiped" { Ok(Outcome::Succeeds) } else { Err("another answer".into()) }
}

async fn grant_with_a_lent_answer(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut calls) = serve(&bed, "svc.n1", GRANT).await?;
    let mut evil = asked(&bed, GRANT).await?;
    let controllers = "_INBOX.controller.c1.svc.00000000000000000000000000000001";
    if !publishes(&mut evil, GRANT, Some(controllers), &[]).await? {
        return Ok(Outcome::Refused);
    }
    match in_time("a grant", calls.next()).await? {
        Some(Ok(_)) => Ok(Outcome::Succeeds),
        Some(Err(_)) => Ok(Outcome::Ignored),
        None => Err("the calls have ended".into()),
    }
}
