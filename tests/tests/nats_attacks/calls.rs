//! Calls and answers: what the server lets through, because the attacker may call or the responder may
//! answer, and the runtime must not act on.

use std::time::Duration;

use mesh_core::identity::Responder;
use mesh_core::message::Headers;
use mesh_core::port::{Calls, Connection, ReceiveError, RefusalReason};
use mesh_core::subject::Filter;
use mesh_testkit::fixtures::{message, module_name};

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Mode, PATIENCE, Started};
use crate::steps::{Witness, aim_confirmation, in_time, no_publish};

pub const ATTACKS: &[Attack] = &[
    attack!(call_without_a_reply_address, by "a module that may call the tool",
        "calls it without a reply address: no handler runs", answers),
    attack!(aim_an_answer_at_what_the_responder_may_publish, by "a module that may call the tool",
        "names what the responder emits, calls or echoes as the reply address", answers),
    attack!(aim_an_answer_at_a_declaration, by "a module that may call the tool",
        "names a node's declaration as the reply address", answers),
    attack!(aim_an_answer_at_an_event, by "a module that may call the tool",
        "the same with a third module's event", answers),
    attack!(aim_an_answer_at_the_api, by "a module that may call the tool",
        "the same with the API's addresses that delete a stream and a consumer", answers),
    attack!(aim_an_answer_at_a_tool, by "a module that may call the tool",
        "the same with a tool, and with a provider's grant", answers),
    attack!(aim_an_answer_at_a_delivery, by "a module that may call the tool",
        "the same with where another's deliveries arrive", answers),
    attack!(aim_an_answer_at_the_control_queue, by "a module that may call the tool",
        "the same with an enrolment, a report and the end of a build", answers),
    attack!(aim_an_answer_at_no_reply_address, by "a module that may call the tool",
        "the same with an inbox that names nobody, or another responder", answers),
    attack!(have_an_answer_sent_to_another, by "a module that may call the tool",
        "names another caller's inbox as the reply address", answers),
    attack!(aim_a_confirmation_at_a_tool, by "a module that may not call the tool",
        "has the stream's confirmation of its event sent to a tool", answers),
    attack!(aim_a_confirmation_at_a_grant, by "a module",
        "the same, to a provider's grant", answers),
    attack!(aim_an_acknowledgements_answer_at_a_tool, by "a module that may not call the tool",
        "has the answer to its `+WPI` sent to a tool", answers),
    attack!(aim_an_acknowledgements_answer_at_a_grant, by "a module",
        "has the answer to its `+WPI` sent to a provider's grant", answers),
    attack!(aim_a_confirmation_at_an_inbox, by "a module",
        "has the stream's confirmation of its event sent to another's inbox", answers),
    attack!(answer_twice, by "a module that serves",
        "answers a call again, and once more after the caller has asked something else", answers),
];

/// The tools of `who` as the runtime serves them.
pub async fn serve(bed: &Bed, who: &str, filter: &str) -> Started<(Connection, Calls)> {
    let connection = bed.connect(who).await?;
    let filter = Filter::new(filter)?;
    let options = if filter.as_str().starts_with("mesh.ask") {
        mesh_core::port::ServeOptions {
            group: mesh_testkit::fixtures::group("controller"),
            ..Default::default()
        }
    } else {
        Default::default()
    };
    let calls = connection.requests()?.serve(filter, options).await?;
    Ok((connection, calls))
}

/// What the runtime says next of its calls: that it refused one, and why.
pub async fn refused(calls: &mut Calls) -> Started<RefusalReason> {
    match in_time("a word about a call", calls.next()).await? {
        Some(Err(ReceiveError::Refused { reason, .. })) => Ok(reason),
        other => Err(format!("instead of a refusal: {other:?}").into()),
    }
}

/// The next call was refused, since nobody waits for its answer.
pub async fn refused_without_reply(calls: &mut Calls) -> Verdict {
    match refused(calls).await? {
        RefusalReason::NoReply => Ok(Outcome::Ignored),
        other => Err(other.to_string().into()),
    }
}

/// A proper call comes through and is answered, so what was refused before was not the reason of a
/// silence.
async fn still_serves(bed: &Bed, calls: &mut Calls, tool: &str) -> Started<()> {
    let bob = bed.connect("person.bob").await?;
    let asking = bob.requests()?.request(
        Responder::Module(module_name("svc")),
        message(tool, "proper"),
        PATIENCE,
    );
    let serving = async {
        match in_time("a call", calls.next()).await? {
            Some(Ok(call)) if call.message().payload() == "proper" => {
                Ok(call.answer(Headers::default(), "answer".into()).await?)
            }
            other => Err(format!("instead of the call: {other:?}").into()),
        }
    };
    let (answer, served): (_, Started<()>) = tokio::join!(asking, serving);
    served?;
    if answer?.payload() == "answer" { Ok(()) } else { Err("another answer".into()) }
}

pub const ECHO: &str = "mesh.tools.svc.echo";

/// Calls `svc`'s tool with these reply addresses; each must be refused for that reason.
async fn replies(mode: Mode, replies: &[Option<&str>], why: RefusalReason) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut calls) = serve(&bed, "svc.n1", ECHO).await?;
    let mut raw = bed.raw("evil.n1").await?;
    for reply in replies {
        raw.publish(ECHO, *reply, &[], b"{}").await?;
        let errors = raw.settle().await?.errors;
        if !errors.is_empty() {
            return Err(format!("{reply:?}: {errors:?}").into());
        }
        let reason = refused(&mut calls).await?;
        if reason != why {
            return Err(format!("{reply:?}: {reason}").into());
        }
    }
    still_serves(&bed, &mut calls, ECHO).await?;
    Ok(Outcome::Ignored)
}

async fn call_without_a_reply_address(mode: Mode) -> Verdict {
    replies(mode, &[None], RefusalReason::NoReply).await
}

async fn aim_an_answer_at_what_the_responder_may_publish(mode: Mode) -> Verdict {
    let may = [
        Some("mesh.events.svc.made"),
        Some("mesh.tools.db.drop"),
        Some("_INBOX.svc.n1.echo.00000000000000000000000000000001"),
        // Within the responder's grant, and no reply address of anybody.
        Some("_INBOX.evil.n1.svc.a.b"),
        Some("_INBOX.evil.n1.svc.short"),
    ];
    replies(mode, &may, RefusalReason::ForeignReply).await
}

/// The reply addresses that name the responder and are nobody's inbox, or somebody's and another's.
async fn foreign(mode: Mode, all: &[&str]) -> Verdict {
    let all: Vec<_> = all.iter().copied().map(Some).collect();
    replies(mode, &all, RefusalReason::ForeignReply).await
}

async fn aim_an_answer_at_a_declaration(mode: Mode) -> Verdict {
    foreign(mode, &["mesh.node.n1.declare", "mesh.node.n2.declare"]).await
}

async fn aim_an_answer_at_an_event(mode: Mode) -> Verdict {
    foreign(mode, &["mesh.events.mute.y", "mesh.events.dead", "mesh.replay.n1_svc.mute.y"]).await
}

async fn aim_an_answer_at_the_api(mode: Mode) -> Verdict {
    let api = ["$JS.API.STREAM.DELETE.EVENTS", "$JS.API.CONSUMER.DELETE.EVENTS.n1_svc"];
    foreign(mode, &api).await
}

async fn aim_an_answer_at_a_tool(mode: Mode) -> Verdict {
    foreign(mode, &["mesh.tools.db.wipe", GRANT]).await
}

async fn aim_an_answer_at_a_delivery(mode: Mode) -> Verdict {
    foreign(mode, &["mesh.deliver.EVENTS.n1_evil", "mesh.deliver.EVENTS.n1_svc"]).await
}

async fn aim_an_answer_at_the_control_queue(mode: Mode) -> Verdict {
    let control = ["mesh.control.enrol", "mesh.control.n2.report", "mesh.control.built"];
    foreign(mode, &control).await
}

async fn aim_an_answer_at_no_reply_address(mode: Mode) -> Verdict {
    let inboxes = [
        "_INBOX.evil.n1.db.00000000000000000000000000000001",
        "_INBOX.evil.n1.ack.00000000000000000000000000000001",
        "_INBOX.00000000000000000000000000000001",
        "evil",
    ];
    foreign(mode, &inboxes).await
}

async fn have_an_answer_sent_to_another(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut calls) = serve(&bed, "svc.n1", ECHO).await?;
    let bob = bed.connect("person.bob").await?;
    let mut raw = bed.raw("evil.n1").await?;
    let reply = "_INBOX.person.bob.svc.00000000000000000000000000000001";
    raw.publish(ECHO, Some(reply), &[], b"evil's").await?;
    let asking = bob.requests()?.request(
        Responder::Module(module_name("svc")),
        message(ECHO, "bob's"),
        PATIENCE,
    );
    let serving = async {
        // Whoever may call is served; its answer comes to bob's inbox while bob waits for his own.
        for _ in 0..2 {
            let Some(Ok(call)) = in_time("a call", calls.next()).await? else {
                return Err("no call".into());
            };
            let body = call.message().payload().clone();
            call.answer(Headers::default(), body).await?;
        }
        Ok(())
    };
    let (answer, served): (_, Started<()>) = tokio::join!(asking, serving);
    served?;
    match answer?.payload().as_ref() {
        b"bob's" => Ok(Outcome::Ignored),
        _ => Ok(Outcome::Succeeds),
    }
}

async fn aim_a_confirmation_at_a_tool(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut calls) = serve(&bed, "svc.n1", ECHO).await?;
    let mut raw = bed.raw("mute.n1").await?;
    raw.publish(ECHO, None, &[], b"{}").await?;
    if raw.settle().await?.errors != [no_publish(ECHO)] {
        return Err("it may call the tool".into());
    }
    aim_confirmation(&bed, &mut raw, "mute.n1", "mesh.events.mute.y", ECHO).await?;
    let outcome = refused_without_reply(&mut calls).await?;
    still_serves(&bed, &mut calls, ECHO).await?;
    Ok(outcome)
}

pub const GRANT: &str = "mesh.tools.svc.provision_grant";

async fn aim_a_confirmation_at_a_grant(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut calls) = serve(&bed, "svc.n1", GRANT).await?;
    let mut raw = bed.raw("evil.n1").await?;
    aim_confirmation(&bed, &mut raw, "evil.n1", "mesh.events.evil.x", GRANT).await?;
    refused_without_reply(&mut calls).await
}

async fn aim_an_acknowledgements_answer_at_a_tool(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_db, mut calls) = serve(&bed, "db.n1", "mesh.tools.db.drop").await?;
    let mut raw = bed.raw("evil.n1").await?;
    let tool = "mesh.tools.db.drop";
    raw.publish("$JS.ACK.EVENTS.n1_evil.1.1.1.0.0", Some(tool), &[], b"+WPI").await?;
    refused_without_reply(&mut calls).await
}

async fn aim_an_acknowledgements_answer_at_a_grant(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_svc, mut calls) = serve(&bed, "svc.n1", GRANT).await?;
    let mut raw = bed.raw("evil.n1").await?;
    raw.publish("$JS.ACK.EVENTS.n1_evil.1.1.1.0.0", Some(GRANT), &[], b"+WPI").await?;
    refused_without_reply(&mut calls).await
}

async fn aim_a_confirmation_at_an_inbox(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let svc = bed.connect("svc.n1").await?;
    let mut raw = bed.raw("evil.n1").await?;
    for target in [
        "_INBOX.svc.n1.ack.00000000000000000000000000000001",
        "_INBOX.svc.n1.db.00000000000000000000000000000001",
        "_INBOX.svc.n1.echo.00000000000000000000000000000001",
        "_INBOX.svc.n1.x",
    ] {
        aim_confirmation(&bed, &mut raw, "evil.n1", "mesh.events.evil.x", target).await?;
        // What `svc` appends is confirmed for what it is, and what it asks nobody is told so.
        let appended = svc
            .streams()?
            .append(message("mesh.events.svc.made", "{}"), Default::default())
            .await?;
        let mut witness = Witness::of(&bed).await?;
        let last = witness.last("EVENTS", "mesh.events.svc.made").await?.ok_or("not stored")?;
        if last["seq"].as_u64() != appended.sequence || appended.duplicate {
            return Ok(Outcome::Succeeds);
        }
        let asked = svc.requests()?.request(
            Responder::Module(module_name("db")),
            message("mesh.tools.db.absent", "{}"),
            Duration::from_secs(5),
        );
        match asked.await.map_err(|error| error.kind()) {
            Err(mesh_core::port::ErrorKind::NoResponders) => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
    Ok(Outcome::Ignored)
}

async fn answer_twice(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut sly = bed.raw("svc.n1").await?;
    sly.subscribe(ECHO, Some("serve")).await?;
    sly.settle().await?;
    let bob = bed.connect("person.bob").await?;
    let ask = |body: &'static str| {
        let requests = bob.requests().cloned();
        let svc = Responder::Module(module_name("svc"));
        async move {
            let answer = requests?.request(svc, message(ECHO, body), PATIENCE).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(answer.payload().clone())
        }
    };
    let first = async {
        let reply = sly.next().await?.reply.ok_or("no reply address")?;
        for body in ["1", "2"] {
            sly.publish(&reply, None, &[], body.as_bytes()).await?;
        }
        Started::Ok((sly.settle().await?.errors, reply))
    };
    let (answer, given) = tokio::join!(ask("first"), first);
    let (mut errors, old) = given?;
    if answer? != "1" {
        return Ok(Outcome::Succeeds);
    }
    let second = async {
        let reply = sly.next().await?.reply.ok_or("no reply address")?;
        sly.publish(&old, None, &[], b"3").await?;
        sly.publish(&reply, None, &[], b"4").await?;
        Started::Ok(sly.settle().await?.errors)
    };
    let (answer, refused) = tokio::join!(ask("second"), second);
    errors.extend(refused?);
    match (answer?.as_ref(), errors.as_slice()) {
        (b"4", []) => Ok(Outcome::Ignored),
        (b"4", refused) if refused == [no_publish(&old), no_publish(&old)] => Ok(Outcome::Refused),
        (b"4", other) => Err(format!("{other:?}").into()),
        _ => Ok(Outcome::Succeeds),
    }
}
