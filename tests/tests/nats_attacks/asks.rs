//! What hosts ask the controller, and where they would have it answer.

use mesh_core::port::{Calls, ReceiveError, RefusalReason};
use mesh_testkit::servers::nats::RawNats;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::calls::{GRANT, refused, serve};
use crate::split::Mode;
use crate::steps::in_time;

pub const ATTACKS: &[Attack] = &[
    attack!(ask_without_a_reply_address, by "a host",
        "asks the controller without a reply address", answers),
    attack!(ask_with_a_wildcard, by "a host",
        "asks the controller at a subject with a wildcard in it, which its right has", answers),
    attack!(aim_a_controllers_answer_at_an_inbox, by "a host",
        "asks the controller with another's inbox as the reply address", answers),
    attack!(aim_a_controllers_answer_at_a_declaration, by "a host",
        "the same with a node's declaration", answers),
    attack!(aim_a_controllers_answer_at_an_event, by "a host",
        "the same with a module's event", answers),
    attack!(aim_a_controllers_answer_at_an_enrolment, by "a host",
        "the same with an enrolment, and with the answer to one", answers),
    attack!(aim_a_controllers_answer_at_a_tool, by "a host",
        "the same with a tool, and with a provider's grant", answers),
    attack!(aim_a_controllers_answer_at_a_consumers_end, by "a host",
        "the same with the API's address that deletes a consumer", answers),
    attack!(aim_a_controllers_answer_at_a_streams_end, by "a host",
        "the same with the API's address that deletes a stream", answers),
];

/// Asks the controller with these reply addresses; it says why it takes none, and takes a proper question.
async fn asks(mode: Mode, replies: &[Option<&str>], why: RefusalReason) -> Verdict {
    let bed = bed(mode).await?;
    let (_edge, mut asks) = serve(&bed, "controller-edge", "mesh.ask.*.*").await?;
    let mut raw = bed.raw("host.n1").await?;
    for reply in replies {
        raw.publish("mesh.ask.n1.status", *reply, &[], b"{}").await?;
        let reason = refused(&mut asks).await?;
        if reason != why {
            return Err(format!("{reply:?}: {reason}").into());
        }
    }
    proper_question(&mut raw, &mut asks).await
}

async fn proper_question(raw: &mut RawNats, asks: &mut Calls) -> Verdict {
    let own = "_INBOX.host.n1.controller.00000000000000000000000000000001";
    raw.publish("mesh.ask.n1.status", Some(own), &[], b"proper").await?;
    match in_time("a question", asks.next()).await? {
        Some(Ok(call)) if call.message().payload() == "proper" => Ok(Outcome::Ignored),
        other => Err(format!("instead of the question: {other:?}").into()),
    }
}

async fn ask_without_a_reply_address(mode: Mode) -> Verdict {
    asks(mode, &[None], RefusalReason::NoReply).await
}

async fn ask_with_a_wildcard(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let (_edge, mut asks) = serve(&bed, "controller-edge", "mesh.ask.*.*").await?;
    let mut raw = bed.raw("host.n1").await?;
    let own = "_INBOX.host.n1.controller.00000000000000000000000000000002";
    raw.publish("mesh.ask.n1.*", Some(own), &[], b"{}").await?;
    let errors = raw.settle().await?.errors;
    if !errors.is_empty() {
        return Err(format!("{errors:?}").into());
    }
    // A subject that is none can't be named, so it is told as something that was lost.
    match in_time("a word", asks.next()).await? {
        Some(Err(ReceiveError::Lagged { lost: 1 })) => {}
        other => return Err(format!("{other:?}").into()),
    }
    proper_question(&mut raw, &mut asks).await
}

/// The same with addresses at which the controller answers nobody.
async fn foreign_asks(mode: Mode, all: &[&str]) -> Verdict {
    let all: Vec<_> = all.iter().copied().map(Some).collect();
    asks(mode, &all, RefusalReason::ForeignReply).await
}

async fn aim_a_controllers_answer_at_an_inbox(mode: Mode) -> Verdict {
    let inboxes = [
        "_INBOX.host.n2.controller.00000000000000000000000000000001",
        "_INBOX.evil.n1.controller.00000000000000000000000000000001",
        "_INBOX.controller.c1.echo.00000000000000000000000000000001",
    ];
    foreign_asks(mode, &inboxes).await
}

async fn aim_a_controllers_answer_at_a_declaration(mode: Mode) -> Verdict {
    foreign_asks(mode, &["mesh.node.n1.declare", "mesh.node.n2.declare"]).await
}

async fn aim_a_controllers_answer_at_an_event(mode: Mode) -> Verdict {
    foreign_asks(mode, &["mesh.events.svc.made", "mesh.events.dead"]).await
}

async fn aim_a_controllers_answer_at_an_enrolment(mode: Mode) -> Verdict {
    foreign_asks(mode, &["mesh.control.enrol", "_INBOX.enrol.t1.answer"]).await
}

async fn aim_a_controllers_answer_at_a_tool(mode: Mode) -> Verdict {
    foreign_asks(mode, &["mesh.tools.db.drop", GRANT]).await
}

async fn aim_a_controllers_answer_at_a_consumers_end(mode: Mode) -> Verdict {
    foreign_asks(mode, &["$JS.API.CONSUMER.DELETE.EVENTS.n1_svc"]).await
}

async fn aim_a_controllers_answer_at_a_streams_end(mode: Mode) -> Verdict {
    foreign_asks(mode, &["$JS.API.STREAM.DELETE.EVENTS"]).await
}
