//! Answers of programs that don't check where they are told to answer. To the server such an answer is
//! the responder's own publish, so what comes of it is what the responder's user may publish: this is what
//! the two answer modes differ in.

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::calls::{ECHO, GRANT, refused_without_reply, serve};
use crate::split::{Bed, Mode, Started};
use crate::steps::{Witness, mark, no_publish};

pub const ATTACKS: &[Attack] = &[
    attack!(aim_an_unchecked_answer_at_what_the_responder_may_publish, by "a module that may call a tool of another make",
        "names what the responder emits as the reply address", answers),
    attack!(aim_an_unchecked_answer_at_a_declaration, by "a module that may call a tool of another make",
        "names a node's declaration as the reply address", answers),
    attack!(aim_an_unchecked_answer_at_an_event, by "a module that may call a tool of another make",
        "the same with a third module's event", answers),
    attack!(aim_an_unchecked_answer_at_a_report, by "a module that may call a tool of another make",
        "the same with a host's report", answers),
    attack!(aim_an_unchecked_answer_at_an_enrolment, by "a module that may call a tool of another make",
        "the same with an enrolment", answers),
    attack!(aim_an_unchecked_answer_at_a_tool, by "a module that may call a tool of another make",
        "the same with a tool that neither may call", answers),
    attack!(aim_an_unchecked_answer_at_a_grant, by "a module that may call a tool of another make",
        "the same with a provider's grant", answers),
    attack!(aim_an_unchecked_answer_at_a_streams_end, by "a module that may call a tool of another make",
        "the same with the API's address that deletes a stream", answers),
    attack!(aim_an_unchecked_answer_at_a_consumers_end, by "a module that may call a tool of another make",
        "the same with the API's address that deletes another's consumer", answers),
    attack!(aim_a_controllers_unchecked_answer_at_a_declaration, by "a host, where the controller is of another make",
        "asks with a node's declaration as the reply address", answers),
    attack!(aim_a_controllers_unchecked_answer_at_an_event, by "a host, where the controller is of another make",
        "the same with a module's event", answers),
    attack!(aim_a_controllers_unchecked_answer_at_an_enrolment, by "a host, where the controller is of another make",
        "the same with an enrolment", answers),
    attack!(aim_a_controllers_unchecked_answer_at_a_tool, by "a host, where the controller is of another make",
        "the same with a tool", answers),
    attack!(aim_a_controllers_unchecked_answer_at_a_grant, by "a host, where the controller is of another make",
        "the same with a provider's grant, which the controller may call", answers),
    attack!(aim_a_controllers_unchecked_answer_at_a_streams_end, by "a host, where the controller is of another make",
        "the same with the API's address that deletes a stream", answers),
    attack!(aim_a_controllers_unchecked_answer_at_a_consumers_end, by "a host, where the controller is of another make",
        "the same with the API's address that deletes another's consumer", answers),
];

/// A program that answers where it is told to, and who has it do so.
struct Naive {
    who: &'static str,
    listens: (&'static str, &'static str),
    caller: &'static str,
    call: &'static str,
}

const MODULE: Naive =
    Naive { who: "svc.n1", listens: (ECHO, "serve"), caller: "evil.n1", call: ECHO };

const CONTROLLER: Naive = Naive {
    who: "controller-edge",
    listens: ("mesh.ask.*.*", "controller"),
    caller: "host.n1",
    call: "mesh.ask.n1.status",
};

impl Naive {
    /// Has an empty answer sent to `target`, and says whether the server let it through.
    async fn answers(&self, bed: &Bed, target: &str) -> Started<bool> {
        let mut naive = bed.raw(self.who).await?;
        let (filter, group) = self.listens;
        naive.subscribe(filter, Some(group)).await?;
        naive.settle().await?;
        let mut caller = bed.raw(self.caller).await?;
        caller.publish(self.call, Some(target), &[], b"").await?;
        let reply = naive.next().await?.reply.ok_or("no reply address")?;
        naive.publish(&reply, None, &[], b"").await?;
        let errors = naive.settle().await?.errors;
        match errors.as_slice() {
            [] => Ok(true),
            [refusal] if *refusal == no_publish(target) => Ok(false),
            other => Err(format!("{other:?}").into()),
        }
    }

    /// At a subject that a stream takes: whether it is stored there.
    async fn at_a_stream(self, mode: Mode, stream: &str, target: &str) -> Verdict {
        let bed = bed(mode).await?;
        let mut witness = Witness::of(&bed).await?;
        let before = mark(&bed, &mut witness, stream).await?;
        if !self.answers(&bed, target).await? {
            return Ok(Outcome::Refused);
        }
        match mark(&bed, &mut witness, stream).await? - before {
            1 => Ok(Outcome::Nowhere),
            2 => Ok(Outcome::Succeeds),
            other => Err(format!("{other} messages between two marks").into()),
        }
    }

    /// At a tool, which is served as the runtime does.
    async fn at_a_tool(self, mode: Mode, by: &str, tool: &str) -> Verdict {
        let bed = bed(mode).await?;
        let (_connection, mut calls) = serve(&bed, by, tool).await?;
        if !self.answers(&bed, tool).await? {
            return Ok(Outcome::Refused);
        }
        refused_without_reply(&mut calls).await
    }

    async fn at_a_streams_end(self, mode: Mode) -> Verdict {
        let bed = bed(mode).await?;
        if !self.answers(&bed, "$JS.API.STREAM.DELETE.CONTROL").await? {
            return Ok(Outcome::Refused);
        }
        let held = Witness::of(&bed).await?.messages("CONTROL").await?;
        Ok(if held.is_none() { Outcome::Succeeds } else { Outcome::Nowhere })
    }

    async fn at_a_consumers_end(self, mode: Mode) -> Verdict {
        let bed = bed(mode).await?;
        if !self.answers(&bed, "$JS.API.CONSUMER.DELETE.EVENTS.n1_svc").await? {
            return Ok(Outcome::Refused);
        }
        let left = Witness::of(&bed).await?.consumer("EVENTS", "n1_svc").await?;
        Ok(if left.is_none() { Outcome::Succeeds } else { Outcome::Nowhere })
    }
}

async fn aim_an_unchecked_answer_at_what_the_responder_may_publish(mode: Mode) -> Verdict {
    MODULE.at_a_stream(mode, "EVENTS", "mesh.events.svc.made").await
}

async fn aim_an_unchecked_answer_at_a_declaration(mode: Mode) -> Verdict {
    MODULE.at_a_stream(mode, "NODES", "mesh.node.n2.declare").await
}

async fn aim_an_unchecked_answer_at_an_event(mode: Mode) -> Verdict {
    MODULE.at_a_stream(mode, "EVENTS", "mesh.events.mute.y").await
}

async fn aim_an_unchecked_answer_at_a_report(mode: Mode) -> Verdict {
    MODULE.at_a_stream(mode, "CONTROL", "mesh.control.n2.report").await
}

async fn aim_an_unchecked_answer_at_an_enrolment(mode: Mode) -> Verdict {
    MODULE.at_a_stream(mode, "CONTROL", "mesh.control.enrol").await
}

async fn aim_an_unchecked_answer_at_a_tool(mode: Mode) -> Verdict {
    MODULE.at_a_tool(mode, "db.n1", "mesh.tools.db.wipe").await
}

async fn aim_an_unchecked_answer_at_a_grant(mode: Mode) -> Verdict {
    MODULE.at_a_tool(mode, "svc.n1", GRANT).await
}

async fn aim_an_unchecked_answer_at_a_streams_end(mode: Mode) -> Verdict {
    MODULE.at_a_streams_end(mode).await
}

async fn aim_an_unchecked_answer_at_a_consumers_end(mode: Mode) -> Verdict {
    MODULE.at_a_consumers_end(mode).await
}

async fn aim_a_controllers_unchecked_answer_at_a_declaration(mode: Mode) -> Verdict {
    CONTROLLER.at_a_stream(mode, "NODES", "mesh.node.n2.declare").await
}

async fn aim_a_controllers_unchecked_answer_at_an_event(mode: Mode) -> Verdict {
    CONTROLLER.at_a_stream(mode, "EVENTS", "mesh.events.svc.made").await
}

async fn aim_a_controllers_unchecked_answer_at_an_enrolment(mode: Mode) -> Verdict {
    CONTROLLER.at_a_stream(mode, "CONTROL", "mesh.control.enrol").await
}

async fn aim_a_controllers_unchecked_answer_at_a_tool(mode: Mode) -> Verdict {
    CONTROLLER.at_a_tool(mode, "db.n1", "mesh.tools.db.drop").await
}

async fn aim_a_controllers_unchecked_answer_at_a_grant(mode: Mode) -> Verdict {
    CONTROLLER.at_a_tool(mode, "svc.n1", GRANT).await
}

async fn aim_a_controllers_unchecked_answer_at_a_streams_end(mode: Mode) -> Verdict {
    CONTROLLER.at_a_streams_end(mode).await
}

async fn aim_a_controllers_unchecked_answer_at_a_consumers_end(mode: Mode) -> Verdict {
    CONTROLLER.at_a_consumers_end(mode).await
}
