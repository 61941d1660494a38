//! What the server refuses because nobody was given it.

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Isolation, Mode};
use crate::steps::publishes_are_refused;

/// What `evil` may do, to show that it is connected.
const OWN: &str = "mesh.events.evil.x";

pub const ATTACKS: &[Attack] = &[
    attack!(publish_as_another_module, by "a module",
        "publishes another module's event"),
    attack!(emit_what_is_not_declared, by "a module",
        "publishes an event that its manifest does not emit"),
    attack!(publish_a_replay, by "a module",
        "publishes a replay to another's consumer, and to its own"),
    attack!(publish_a_dead_letter, by "a module",
        "publishes a dead letter"),
    attack!(publish_on_a_deliver_subject, by "a module, a host, the builder, a person, the controller",
        "publishes where a durable consumer's deliveries arrive, its own or another's"),
    attack!(forge_a_notice, by "a module",
        "publishes the server's notice that another's event was given up"),
    attack!(report_for_another_node, by "a host",
        "reports, is alive and asks for another node"),
    attack!(declare, by "a host, a module, the builder, a person, an enrolment",
        "publishes a declaration"),
    attack!(order_a_build, by "a host, a module, the builder",
        "orders a build"),
    attack!(report_a_build, by "a host, a module, an enrolment",
        "says that something was built"),
    attack!(call_what_is_not_declared, by "a module, a person, the builder, an enrolment",
        "calls a tool that it may not"),
    attack!(grant_by_a_person_with_a_list, by "a person who may call one tool of the provider",
        "calls its grant and withdrawal"),
    attack!(grant_by_a_person_with_every_tool, by "a person who may call all tools",
        "calls a provider's grant and withdrawal", answers),
    attack!(grant_by_a_module, by "a module, a host",
        "calls a provider's grant and withdrawal, another's and its own"),
    attack!(forge_an_answer, by "a module that serves, and one that does not",
        "answers another's call: the inbox names whom was asked", answers),
    attack!(answer_for_the_controller, by "a module",
        "answers what a host asked and who enrols", answers),
    attack!(forge_a_confirmation, by "a module that serves",
        "publishes where another's appends are confirmed, and another's echo", answers),
    attack!(create_a_consumer, by "a module, a host, the builder, a person, an enrolment, controller-edge",
        "makes itself a consumer through the server's API"),
    attack!(get_directly, by "a module, a host, the builder, a person, an enrolment, controller-edge",
        "reads a stream by a direct get"),
    attack!(get_a_message, by "a module, a host, the builder, a person, an enrolment, controller-edge",
        "reads a stream by the API's get, and pulls from a consumer"),
    attack!(use_the_api, by "a module, a host, the builder, a person, an enrolment, controller-edge",
        "asks for, empties and deletes streams and consumers through the API"),
    attack!(ask_the_system, by "a module",
        "asks the server itself"),
    attack!(publish_to_a_wildcard, by "a module, a host, a person who may call all tools",
        "publishes to a subject with a wildcard in it, which no right of its own has"),
    attack!(publish_to_a_wildcard_within_its_rights, by "a module that serves, a person who may call all tools",
        "the same where its right has one: to the server it is a name, and no filter", answers),
];

async fn publish_as_another_module(mode: Mode) -> Verdict {
    let others = ["mesh.events.svc.made", "mesh.events.mute.y", "mesh.events.evil2.x"];
    publishes_are_refused(mode, "evil.n1", OWN, &others).await
}

async fn emit_what_is_not_declared(mode: Mode) -> Verdict {
    let undeclared = ["mesh.events.evil.other", "mesh.events.evil.x.y", "mesh.events.evil"];
    publishes_are_refused(mode, "evil.n1", OWN, &undeclared).await
}

async fn publish_a_replay(mode: Mode) -> Verdict {
    let replays = ["mesh.replay.n1_svc.evil.x", "mesh.replay.n1_evil.svc.made"];
    publishes_are_refused(mode, "evil.n1", OWN, &replays).await
}

async fn publish_a_dead_letter(mode: Mode) -> Verdict {
    publishes_are_refused(mode, "evil.n1", OWN, &["mesh.events.dead"]).await
}

async fn publish_on_a_deliver_subject(mode: Mode) -> Verdict {
    let all = [
        "mesh.deliver.EVENTS.n1_svc",
        "mesh.deliver.EVENTS.n1_evil",
        "mesh.deliver.NODES.n1",
        "mesh.deliver.BUILDS.builder",
        "mesh.deliver.CONTROL.controller",
        "mesh.deliver.ADVISORIES.controller",
    ];
    for (who, own) in [
        ("evil.n1", OWN),
        ("host.n1", "mesh.control.n1.alive"),
        ("builder.n1", "mesh.control.built"),
        ("person.alice", "mesh.tools.svc.echo"),
    ] {
        publishes_are_refused(mode, who, own, &all).await?;
    }
    publishes_are_refused(mode, "controller", "mesh.build.request", &all).await
}

async fn forge_a_notice(mode: Mode) -> Verdict {
    let notices = [
        "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.n1_svc",
        "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.EVENTS.n1_evil",
    ];
    publishes_are_refused(mode, "evil.n1", OWN, &notices).await
}

async fn report_for_another_node(mode: Mode) -> Verdict {
    let others = ["mesh.control.n2.report", "mesh.control.n2.alive", "mesh.ask.n2.status"];
    publishes_are_refused(mode, "host.n1", "mesh.control.n1.report", &others).await
}

async fn declare(mode: Mode) -> Verdict {
    let all = ["mesh.node.n1.declare", "mesh.node.n2.declare"];
    for (who, own) in [
        ("evil.n1", OWN),
        ("builder.n1", "mesh.control.built"),
        ("person.alice", "mesh.tools.svc.echo"),
        ("enrol.t1", "mesh.control.enrol"),
    ] {
        publishes_are_refused(mode, who, own, &all).await?;
    }
    publishes_are_refused(mode, "host.n1", "mesh.control.n1.report", &all).await
}

async fn order_a_build(mode: Mode) -> Verdict {
    for (who, own) in [("evil.n1", OWN), ("builder.n1", "mesh.control.built")] {
        publishes_are_refused(mode, who, own, &["mesh.build.request"]).await?;
    }
    let own = "mesh.control.n1.report";
    publishes_are_refused(mode, "host.n1", own, &["mesh.build.request"]).await
}

async fn report_a_build(mode: Mode) -> Verdict {
    for (who, own) in [("evil.n1", OWN), ("enrol.t1", "mesh.control.enrol")] {
        publishes_are_refused(mode, who, own, &["mesh.control.built"]).await?;
    }
    let own = "mesh.control.n1.report";
    publishes_are_refused(mode, "host.n1", own, &["mesh.control.built"]).await
}

async fn call_what_is_not_declared(mode: Mode) -> Verdict {
    for (who, own) in
        [("evil.n1", OWN), ("builder.n1", "mesh.control.built"), ("enrol.t1", "mesh.control.enrol")]
    {
        publishes_are_refused(mode, who, own, &["mesh.tools.db.drop"]).await?;
    }
    let own = "mesh.tools.svc.echo";
    let others = ["mesh.tools.db.drop", "mesh.tools.svc.slow"];
    publishes_are_refused(mode, "person.bob", own, &others).await
}

const GRANTS: [&str; 2] = ["mesh.tools.svc.provision_grant", "mesh.tools.svc.provision_withdraw"];

async fn grant_by_a_person_with_a_list(mode: Mode) -> Verdict {
    publishes_are_refused(mode, "person.bob", "mesh.tools.svc.echo", &GRANTS).await
}

async fn grant_by_a_person_with_every_tool(mode: Mode) -> Verdict {
    publishes_are_refused(mode, "person.alice", "mesh.tools.db.drop", &GRANTS).await
}

async fn grant_by_a_module(mode: Mode) -> Verdict {
    publishes_are_refused(mode, "svc.n1", "mesh.events.svc.made", &GRANTS).await?;
    publishes_are_refused(mode, "host.n1", "mesh.control.n1.report", &GRANTS).await?;
    publishes_are_refused(mode, "evil.n1", OWN, &GRANTS).await
}

async fn forge_an_answer(mode: Mode) -> Verdict {
    let answers = [
        "_INBOX.person.bob.svc.00000000000000000000000000000001",
        "_INBOX.evil.n2.svc.00000000000000000000000000000001",
        "_INBOX.person.bob",
        "_INBOX.person.bob.evil",
    ];
    publishes_are_refused(mode, "evil.n1", OWN, &answers).await?;
    publishes_are_refused(mode, "mute.n1", "mesh.events.mute.y", &answers).await
}

async fn answer_for_the_controller(mode: Mode) -> Verdict {
    let answers = [
        "_INBOX.host.n1.controller.00000000000000000000000000000001",
        "_INBOX.enrol.t1.answer",
        "_INBOX.enrol.t1.ack.00000000000000000000000000000001",
    ];
    publishes_are_refused(mode, "evil.n1", OWN, &answers).await
}

async fn forge_a_confirmation(mode: Mode) -> Verdict {
    let answers = [
        "_INBOX.svc.n1.ack.00000000000000000000000000000001",
        "_INBOX.svc.n1.echo.00000000000000000000000000000001",
        "_INBOX.controller.c1.ack.00000000000000000000000000000001",
        "_INBOX.evil.n1.ack.00000000000000000000000000000001",
        "_INBOX.evil.n2.echo.00000000000000000000000000000001",
    ];
    publishes_are_refused(mode, "evil.n1", OWN, &answers).await
}

/// Everybody who has no right to the API, and what each may.
async fn api_is_refused(mode: Mode, api: &[&str]) -> Verdict {
    for (who, own) in [
        ("host.n1", "mesh.control.n1.report"),
        ("builder.n1", "mesh.control.built"),
        ("person.alice", "mesh.tools.svc.echo"),
        ("enrol.t1", "mesh.control.enrol"),
    ] {
        publishes_are_refused(mode, who, own, api).await?;
    }
    if mode.isolation == Isolation::Split {
        let own = "_INBOX.controller.c1.echo.00000000000000000000000000000001";
        publishes_are_refused(mode, "controller-edge", own, api).await?;
    }
    publishes_are_refused(mode, "evil.n1", OWN, api).await
}

async fn create_a_consumer(mode: Mode) -> Verdict {
    let api = [
        "$JS.API.CONSUMER.CREATE.EVENTS",
        "$JS.API.CONSUMER.CREATE.EVENTS.n1_evil",
        "$JS.API.CONSUMER.CREATE.EVENTS.n1_evil.mesh.events.svc.made",
        "$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.n1_evil",
    ];
    api_is_refused(mode, &api).await
}

async fn get_directly(mode: Mode) -> Verdict {
    let api = ["$JS.API.DIRECT.GET.NODES", "$JS.API.DIRECT.GET.NODES.mesh.node.n2.declare"];
    api_is_refused(mode, &api).await
}

async fn get_a_message(mode: Mode) -> Verdict {
    let api = ["$JS.API.STREAM.MSG.GET.EVENTS", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.n1_evil"];
    api_is_refused(mode, &api).await
}

async fn use_the_api(mode: Mode) -> Verdict {
    let api = [
        "$JS.API.INFO",
        "$JS.API.STREAM.INFO.EVENTS",
        "$JS.API.STREAM.UPDATE.EVENTS",
        "$JS.API.STREAM.DELETE.EVENTS",
        "$JS.API.STREAM.PURGE.EVENTS",
        "$JS.API.STREAM.MSG.DELETE.EVENTS",
        "$JS.API.CONSUMER.INFO.EVENTS.n1_evil",
        "$JS.API.CONSUMER.PAUSE.EVENTS.n1_svc",
        "$JS.API.CONSUMER.DELETE.EVENTS.n1_svc",
    ];
    api_is_refused(mode, &api).await
}

async fn ask_the_system(mode: Mode) -> Verdict {
    let system = ["$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.BUS.INFO"];
    publishes_are_refused(mode, "evil.n1", OWN, &system).await
}

async fn publish_to_a_wildcard(mode: Mode) -> Verdict {
    let module = [
        "mesh.events.evil.*",
        "mesh.events.evil.>",
        "mesh.events.*.x",
        "mesh.tools.svc.*",
        "$JS.ACK.EVENTS.*.1.1.1.0.0",
        "$JS.ACK.EVENTS.n1_evil.>",
        ">",
    ];
    publishes_are_refused(mode, "evil.n1", OWN, &module).await?;
    let host = ["mesh.control.*.report", "mesh.control.*.alive", "mesh.ask.*.status"];
    publishes_are_refused(mode, "host.n1", "mesh.control.n1.report", &host).await?;
    let person = ["mesh.tools.*.provision_grant", "mesh.*.svc.echo", "mesh.>"];
    publishes_are_refused(mode, "person.alice", "mesh.tools.svc.echo", &person).await
}

async fn publish_to_a_wildcard_within_its_rights(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut victims = Vec::new();
    for (who, filter, group) in [
        ("svc.n1", "_INBOX.svc.n1.>", None),
        ("svc.n1", "mesh.tools.svc.echo", Some("serve")),
        ("svc.n1", "mesh.tools.svc.provision_grant", Some("serve")),
        ("db.n1", "mesh.tools.db.drop", Some("serve")),
    ] {
        let mut victim = bed.raw(who).await?;
        victim.subscribe(filter, group).await?;
        victim.settle().await?;
        victims.push(victim);
    }
    let mut may = 0;
    for (who, subject) in [
        ("evil.n1", "_INBOX.*.*.evil.x"),
        ("evil.n1", "_INBOX.*.*.evil.>"),
        ("evil.n1", "$JS.ACK.EVENTS.n1_evil.*.*.*.*.*"),
        ("person.alice", "mesh.tools.svc.*"),
        ("person.alice", "mesh.tools.*.drop"),
        ("person.alice", "mesh.tools.>"),
    ] {
        let mut raw = bed.raw(who).await?;
        raw.publish(subject, None, &[], b"{}").await?;
        may += usize::from(raw.settle().await?.errors.is_empty());
    }
    if may < 4 {
        return Err(format!("only {may} were let through").into());
    }
    for mut victim in victims {
        if !victim.settle().await?.messages.is_empty() {
            return Ok(Outcome::Succeeds);
        }
    }
    Ok(Outcome::Nowhere)
}
