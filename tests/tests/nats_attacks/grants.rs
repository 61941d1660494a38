//! What the server refuses because nobody was given it.

use crate::attack::{Attack, Verdict, attack};
use crate::split::Isolation;
use crate::steps::{publishes_are_refused, subscriptions_are_refused};

/// What `evil` may do, to show that it is connected.
const OWN: &str = "mesh.events.evil.x";

pub const ATTACKS: &[Attack] = &[
    attack!(publish_as_another_module, by "a module",
        "publishes another module's event", Refused, Refused),
    attack!(emit_what_is_not_declared, by "a module",
        "publishes an event that its manifest does not emit", Refused, Refused),
    attack!(publish_a_replay, by "a module",
        "publishes a replay to another's consumer, and to its own", Refused, Refused),
    attack!(publish_a_dead_letter, by "a module",
        "publishes a dead letter", Refused, Refused),
    attack!(publish_on_a_deliver_subject, by "a module, a host, the builder, a person, the controller",
        "publishes where a durable consumer's deliveries arrive, its own or another's", Refused, Refused),
    attack!(forge_a_notice, by "a module",
        "publishes the server's notice that another's event was given up", Refused, Refused),
    attack!(report_for_another_node, by "a host",
        "reports, is alive and asks for another node", Refused, Refused),
    attack!(declare, by "a host, a module, the builder, a person, an enrolment",
        "publishes a declaration", Refused, Refused),
    attack!(order_a_build, by "a host, a module, the builder",
        "orders a build", Refused, Refused),
    attack!(report_a_build, by "a host, a module, an enrolment",
        "says that something was built", Refused, Refused),
    attack!(call_what_is_not_declared, by "a module, a person, the builder, an enrolment",
        "calls a tool that it may not", Refused, Refused),
    attack!(grant_by_a_person_with_every_tool, by "a person who may call all tools",
        "calls a provider's grant and withdrawal", Refused, Refused),
    attack!(grant_by_a_module, by "a module, a host",
        "calls a provider's grant and withdrawal, another's and its own", Refused, Refused),
    attack!(forge_an_answer, by "a module that serves, and one that does not",
        "answers another's call: the inbox names whom was asked", Refused, Refused),
    attack!(answer_for_the_controller, by "a module",
        "answers what a host asked and who enrols", Refused, Refused),
    attack!(forge_a_confirmation, by "a module that serves",
        "publishes where another's appends are confirmed, and another's echo", Refused, Refused),
    attack!(use_the_api, by "a module, a host, the builder, a person, an enrolment, controller-edge",
        "makes, reads and deletes consumers and streams through the server's API", Refused, Refused),
    attack!(ask_the_system, by "a module",
        "asks the server itself", Refused, Refused),
    attack!(listen_to_others_inboxes, by "a module",
        "subscribes to another's inbox, and to all inboxes", Refused, Refused),
    attack!(listen_to_events, by "a module",
        "subscribes to events themselves: all, what it consumes, its own", Refused, Refused),
    attack!(listen_to_internal_answers, by "a module",
        "subscribes to the server's answers between accounts", Refused, Refused),
    attack!(read_anothers_deliveries, by "a module",
        "subscribes to another's deliveries, with its group and without", Refused, Refused),
    attack!(read_its_own_deliveries_alone, by "a module",
        "subscribes to its own deliveries without the group, or in another", Refused, Refused),
    attack!(read_anothers_declarations, by "a host",
        "subscribes to another node's declarations", Refused, Refused),
    attack!(serve_anothers_tool, by "a module",
        "subscribes to another's tool, with its group and without", Refused, Refused),
    attack!(overhear_its_own_tool, by "a module",
        "subscribes to its own tool without the group", Refused, Refused),
    attack!(serve_a_grant_without_providing, by "a module that provides nothing",
        "subscribes to grants", Refused, Refused),
    attack!(hear_what_hosts_ask, by "a module, a host",
        "subscribes to questions to the controller", Refused, Refused),
    attack!(listen_to_everything, by "a module, a host, the builder, a person, an enrolment",
        "subscribes to everything, the API, acknowledgements, notices, the system", Refused, Refused),
];

async fn publish_as_another_module(isolation: Isolation) -> Verdict {
    let others = ["mesh.events.svc.made", "mesh.events.mute.y", "mesh.events.evil2.x"];
    publishes_are_refused(isolation, "evil.n1", OWN, &others).await
}

async fn emit_what_is_not_declared(isolation: Isolation) -> Verdict {
    let undeclared = ["mesh.events.evil.other", "mesh.events.evil.x.y", "mesh.events.evil"];
    publishes_are_refused(isolation, "evil.n1", OWN, &undeclared).await
}

async fn publish_a_replay(isolation: Isolation) -> Verdict {
    let replays = ["mesh.replay.n1_svc.evil.x", "mesh.replay.n1_evil.svc.made"];
    publishes_are_refused(isolation, "evil.n1", OWN, &replays).await
}

async fn publish_a_dead_letter(isolation: Isolation) -> Verdict {
    publishes_are_refused(isolation, "evil.n1", OWN, &["mesh.events.dead"]).await
}

async fn publish_on_a_deliver_subject(isolation: Isolation) -> Verdict {
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
        publishes_are_refused(isolation, who, own, &all).await?;
    }
    publishes_are_refused(isolation, "controller", "mesh.build.request", &all).await
}

async fn forge_a_notice(isolation: Isolation) -> Verdict {
    let notices = [
        "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.n1_svc",
        "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.EVENTS.n1_evil",
    ];
    publishes_are_refused(isolation, "evil.n1", OWN, &notices).await
}

async fn report_for_another_node(isolation: Isolation) -> Verdict {
    let others = ["mesh.control.n2.report", "mesh.control.n2.alive", "mesh.ask.n2.status"];
    publishes_are_refused(isolation, "host.n1", "mesh.control.n1.report", &others).await
}

async fn declare(isolation: Isolation) -> Verdict {
    let all = ["mesh.node.n1.declare", "mesh.node.n2.declare"];
    for (who, own) in [
        ("evil.n1", OWN),
        ("builder.n1", "mesh.control.built"),
        ("person.alice", "mesh.tools.svc.echo"),
        ("enrol.t1", "mesh.control.enrol"),
    ] {
        publishes_are_refused(isolation, who, own, &all).await?;
    }
    publishes_are_refused(isolation, "host.n1", "mesh.control.n1.report", &all).await
}

async fn order_a_build(isolation: Isolation) -> Verdict {
    for (who, own) in [("evil.n1", OWN), ("builder.n1", "mesh.control.built")] {
        publishes_are_refused(isolation, who, own, &["mesh.build.request"]).await?;
    }
    let own = "mesh.control.n1.report";
    publishes_are_refused(isolation, "host.n1", own, &["mesh.build.request"]).await
}

async fn report_a_build(isolation: Isolation) -> Verdict {
    for (who, own) in [("evil.n1", OWN), ("enrol.t1", "mesh.control.enrol")] {
        publishes_are_refused(isolation, who, own, &["mesh.control.built"]).await?;
    }
    let own = "mesh.control.n1.report";
    publishes_are_refused(isolation, "host.n1", own, &["mesh.control.built"]).await
}

async fn call_what_is_not_declared(isolation: Isolation) -> Verdict {
    for (who, own) in
        [("evil.n1", OWN), ("builder.n1", "mesh.control.built"), ("enrol.t1", "mesh.control.enrol")]
    {
        publishes_are_refused(isolation, who, own, &["mesh.tools.db.drop"]).await?;
    }
    let own = "mesh.tools.svc.echo";
    let others = ["mesh.tools.db.drop", "mesh.tools.svc.slow"];
    publishes_are_refused(isolation, "person.bob", own, &others).await
}

const GRANTS: [&str; 2] = ["mesh.tools.svc.provision_grant", "mesh.tools.svc.provision_withdraw"];

async fn grant_by_a_person_with_every_tool(isolation: Isolation) -> Verdict {
    publishes_are_refused(isolation, "person.alice", "mesh.tools.db.drop", &GRANTS).await
}

async fn grant_by_a_module(isolation: Isolation) -> Verdict {
    publishes_are_refused(isolation, "svc.n1", "mesh.events.svc.made", &GRANTS).await?;
    publishes_are_refused(isolation, "host.n1", "mesh.control.n1.report", &GRANTS).await?;
    publishes_are_refused(isolation, "evil.n1", OWN, &GRANTS).await
}

async fn forge_an_answer(isolation: Isolation) -> Verdict {
    let answers = [
        "_INBOX.person.bob.svc.00000000000000000000000000000001",
        "_INBOX.evil.n2.svc.00000000000000000000000000000001",
        "_INBOX.person.bob",
        "_INBOX.person.bob.evil",
    ];
    publishes_are_refused(isolation, "evil.n1", OWN, &answers).await?;
    publishes_are_refused(isolation, "mute.n1", "mesh.events.mute.y", &answers).await
}

async fn answer_for_the_controller(isolation: Isolation) -> Verdict {
    let answers = [
        "_INBOX.host.n1.controller.00000000000000000000000000000001",
        "_INBOX.enrol.t1.answer",
        "_INBOX.enrol.t1.ack.00000000000000000000000000000001",
    ];
    publishes_are_refused(isolation, "evil.n1", OWN, &answers).await
}

async fn forge_a_confirmation(isolation: Isolation) -> Verdict {
    let answers = [
        "_INBOX.svc.n1.ack.00000000000000000000000000000001",
        "_INBOX.svc.n1.echo.00000000000000000000000000000001",
        "_INBOX.controller.c1.ack.00000000000000000000000000000001",
        "_INBOX.evil.n1.ack.00000000000000000000000000000001",
        "_INBOX.evil.n2.echo.00000000000000000000000000000001",
    ];
    publishes_are_refused(isolation, "evil.n1", OWN, &answers).await
}

async fn use_the_api(isolation: Isolation) -> Verdict {
    let api = [
        "$JS.API.INFO",
        "$JS.API.STREAM.DELETE.EVENTS",
        "$JS.API.STREAM.PURGE.EVENTS",
        "$JS.API.STREAM.MSG.GET.EVENTS",
        "$JS.API.DIRECT.GET.NODES",
        "$JS.API.CONSUMER.CREATE.EVENTS.n1_evil",
        "$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.n1_evil",
        "$JS.API.CONSUMER.MSG.NEXT.EVENTS.n1_evil",
        "$JS.API.CONSUMER.INFO.EVENTS.n1_evil",
        "$JS.API.CONSUMER.DELETE.EVENTS.n1_svc",
    ];
    for (who, own) in [
        ("host.n1", "mesh.control.n1.report"),
        ("builder.n1", "mesh.control.built"),
        ("person.alice", "mesh.tools.svc.echo"),
        ("enrol.t1", "mesh.control.enrol"),
    ] {
        publishes_are_refused(isolation, who, own, &api).await?;
    }
    if isolation == Isolation::Split {
        let own = "_INBOX.enrol.t1.answer";
        publishes_are_refused(isolation, "controller-edge", own, &api).await?;
    }
    publishes_are_refused(isolation, "evil.n1", OWN, &api).await
}

async fn ask_the_system(isolation: Isolation) -> Verdict {
    let system = ["$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.BUS.INFO"];
    publishes_are_refused(isolation, "evil.n1", OWN, &system).await
}

async fn listen_to_others_inboxes(isolation: Isolation) -> Verdict {
    let inboxes = [
        ("_INBOX.>", None),
        ("_INBOX.svc.n1.>", None),
        ("_INBOX.*.*.evil.>", None),
        ("_INBOX.evil.>", None),
        ("_INBOX.evil.n2.>", None),
        ("_INBOX.controller.>", None),
        ("_INBOX.svc.n1.ack.*", Some("evil")),
    ];
    subscriptions_are_refused(isolation, "evil.n1", &inboxes).await
}

async fn listen_to_events(isolation: Isolation) -> Verdict {
    let events = [
        ("mesh.events.>", None),
        ("mesh.events.svc.made", None),
        ("mesh.events.evil.x", None),
        ("mesh.events.dead", None),
        ("mesh.replay.>", None),
        ("mesh.events.svc.made", Some("n1_evil")),
    ];
    subscriptions_are_refused(isolation, "evil.n1", &events).await
}

async fn listen_to_internal_answers(isolation: Isolation) -> Verdict {
    subscriptions_are_refused(isolation, "evil.n1", &[("_R_.>", None), ("_GR_.>", None)]).await
}

async fn read_anothers_deliveries(isolation: Isolation) -> Verdict {
    let deliveries = [
        ("mesh.deliver.EVENTS.n1_svc", None),
        ("mesh.deliver.EVENTS.n1_svc", Some("n1_svc")),
        ("mesh.deliver.EVENTS.n1_svc", Some("n1_evil")),
        ("mesh.deliver.EVENTS.n2_evil", Some("n2_evil")),
        ("mesh.deliver.EVENTS.*", Some("n1_evil")),
        ("mesh.deliver.NODES.n1", None),
        ("mesh.deliver.CONTROL.controller", Some("controller")),
    ];
    subscriptions_are_refused(isolation, "evil.n1", &deliveries).await
}

async fn read_its_own_deliveries_alone(isolation: Isolation) -> Verdict {
    let own = "mesh.deliver.EVENTS.n1_evil";
    subscriptions_are_refused(isolation, "evil.n1", &[(own, None), (own, Some("mine"))]).await
}

async fn read_anothers_declarations(isolation: Isolation) -> Verdict {
    let others = [
        ("mesh.deliver.NODES.n2", None),
        ("mesh.deliver.NODES.*", None),
        ("mesh.node.n2.declare", None),
        ("mesh.node.n1.declare", None),
    ];
    subscriptions_are_refused(isolation, "host.n1", &others).await
}

async fn serve_anothers_tool(isolation: Isolation) -> Verdict {
    let tools = [
        ("mesh.tools.svc.echo", Some("serve")),
        ("mesh.tools.svc.echo", None),
        ("mesh.tools.evil.undeclared", Some("serve")),
        ("mesh.tools.*.*", Some("serve")),
    ];
    subscriptions_are_refused(isolation, "evil.n1", &tools).await
}

async fn overhear_its_own_tool(isolation: Isolation) -> Verdict {
    let own = "mesh.tools.evil.trap";
    subscriptions_are_refused(isolation, "evil.n1", &[(own, None), (own, Some("mine"))]).await
}

async fn serve_a_grant_without_providing(isolation: Isolation) -> Verdict {
    let grants = [
        ("mesh.tools.evil.provision_grant", Some("serve")),
        ("mesh.tools.svc.provision_grant", Some("serve")),
        ("mesh.tools.svc.provision_withdraw", Some("serve")),
    ];
    subscriptions_are_refused(isolation, "evil.n1", &grants).await
}

async fn hear_what_hosts_ask(isolation: Isolation) -> Verdict {
    let asks = [("mesh.ask.*.*", Some("controller")), ("mesh.ask.>", None)];
    subscriptions_are_refused(isolation, "evil.n1", &asks).await?;
    subscriptions_are_refused(isolation, "host.n2", &asks).await
}

async fn listen_to_everything(isolation: Isolation) -> Verdict {
    let all = [
        (">", None),
        ("$JS.API.>", None),
        ("$JS.ACK.>", None),
        ("$JS.EVENT.ADVISORY.>", None),
        ("$SYS.>", None),
        ("mesh.>", None),
        ("mesh.control.>", None),
    ];
    for who in ["host.n1", "builder.n1", "person.alice", "enrol.t1"] {
        subscriptions_are_refused(isolation, who, &all).await?;
    }
    subscriptions_are_refused(isolation, "evil.n1", &all).await
}
