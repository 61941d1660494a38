//! What the server refuses to let anybody hear, because nobody was given it.

use crate::attack::{Attack, Verdict, attack};
use crate::split::Mode;
use crate::steps::subscriptions_are_refused;

pub const ATTACKS: &[Attack] = &[
    attack!(listen_to_others_inboxes, by "a module",
        "subscribes to another's inbox, and to all inboxes"),
    attack!(listen_to_events, by "a module",
        "subscribes to events themselves: all, what it consumes, its own"),
    attack!(listen_to_internal_answers, by "a module",
        "subscribes to the server's answers between accounts"),
    attack!(read_anothers_deliveries, by "a module",
        "subscribes to another's deliveries, with its group and without"),
    attack!(read_its_own_deliveries_alone, by "a module",
        "subscribes to its own deliveries without the group, or in another"),
    attack!(read_anothers_declarations, by "a host",
        "subscribes to another node's declarations"),
    attack!(serve_anothers_tool, by "a module",
        "subscribes to another's tool, with its group and without"),
    attack!(overhear_its_own_tool, by "a module",
        "subscribes to its own tool without the group"),
    attack!(serve_a_grant_without_providing, by "a module that provides nothing",
        "subscribes to grants"),
    attack!(hear_what_hosts_ask, by "a module, a host",
        "subscribes to questions to the controller"),
    attack!(listen_to_everything, by "a module, a host, the builder, a person, an enrolment",
        "subscribes to everything, the API, acknowledgements, notices, the system"),
    attack!(subscribe_to_a_wildcard, by "a module",
        "subscribes to its own with a wildcard in it, which would be more than its own"),
];

async fn listen_to_others_inboxes(mode: Mode) -> Verdict {
    let inboxes = [
        ("_INBOX.>", None),
        ("_INBOX.svc.n1.>", None),
        ("_INBOX.*.*.evil.>", None),
        ("_INBOX.evil.>", None),
        ("_INBOX.evil.n2.>", None),
        ("_INBOX.controller.>", None),
        ("_INBOX.svc.n1.ack.*", Some("evil")),
    ];
    subscriptions_are_refused(mode, "evil.n1", &inboxes).await
}

async fn listen_to_events(mode: Mode) -> Verdict {
    let events = [
        ("mesh.events.>", None),
        ("mesh.events.svc.made", None),
        ("mesh.events.evil.x", None),
        ("mesh.events.dead", None),
        ("mesh.replay.>", None),
        ("mesh.events.svc.made", Some("n1_evil")),
    ];
    subscriptions_are_refused(mode, "evil.n1", &events).await
}

async fn listen_to_internal_answers(mode: Mode) -> Verdict {
    subscriptions_are_refused(mode, "evil.n1", &[("_R_.>", None), ("_GR_.>", None)]).await
}

async fn read_anothers_deliveries(mode: Mode) -> Verdict {
    let deliveries = [
        ("mesh.deliver.EVENTS.n1_svc", None),
        ("mesh.deliver.EVENTS.n1_svc", Some("n1_svc")),
        ("mesh.deliver.EVENTS.n1_svc", Some("n1_evil")),
        ("mesh.deliver.EVENTS.n2_evil", Some("n2_evil")),
        ("mesh.deliver.EVENTS.*", Some("n1_evil")),
        ("mesh.deliver.NODES.n1", None),
        ("mesh.deliver.CONTROL.controller", Some("controller")),
    ];
    subscriptions_are_refused(mode, "evil.n1", &deliveries).await
}

async fn read_its_own_deliveries_alone(mode: Mode) -> Verdict {
    let own = "mesh.deliver.EVENTS.n1_evil";
    subscriptions_are_refused(mode, "evil.n1", &[(own, None), (own, Some("mine"))]).await
}

async fn read_anothers_declarations(mode: Mode) -> Verdict {
    let others = [
        ("mesh.deliver.NODES.n2", None),
        ("mesh.deliver.NODES.*", None),
        ("mesh.node.n2.declare", None),
        ("mesh.node.n1.declare", None),
    ];
    subscriptions_are_refused(mode, "host.n1", &others).await
}

async fn serve_anothers_tool(mode: Mode) -> Verdict {
    let tools = [
        ("mesh.tools.svc.echo", Some("serve")),
        ("mesh.tools.svc.echo", None),
        ("mesh.tools.evil.undeclared", Some("serve")),
        ("mesh.tools.*.*", Some("serve")),
    ];
    subscriptions_are_refused(mode, "evil.n1", &tools).await
}

async fn overhear_its_own_tool(mode: Mode) -> Verdict {
    let own = "mesh.tools.evil.trap";
    subscriptions_are_refused(mode, "evil.n1", &[(own, None), (own, Some("mine"))]).await
}

async fn serve_a_grant_without_providing(mode: Mode) -> Verdict {
    let grants = [
        ("mesh.tools.evil.provision_grant", Some("serve")),
        ("mesh.tools.svc.provision_grant", Some("serve")),
        ("mesh.tools.svc.provision_withdraw", Some("serve")),
    ];
    subscriptions_are_refused(mode, "evil.n1", &grants).await
}

async fn hear_what_hosts_ask(mode: Mode) -> Verdict {
    let asks = [("mesh.ask.*.*", Some("controller")), ("mesh.ask.>", None)];
    subscriptions_are_refused(mode, "evil.n1", &asks).await?;
    subscriptions_are_refused(mode, "host.n2", &asks).await
}

async fn listen_to_everything(mode: Mode) -> Verdict {
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
        subscriptions_are_refused(mode, who, &all).await?;
    }
    subscriptions_are_refused(mode, "evil.n1", &all).await
}

async fn subscribe_to_a_wildcard(mode: Mode) -> Verdict {
    let wider = [
        ("mesh.tools.evil.*", Some("serve")),
        ("mesh.tools.evil.>", Some("serve")),
        ("mesh.tools.*.trap", Some("serve")),
        ("mesh.deliver.EVENTS.>", Some("n1_evil")),
        ("mesh.deliver.*.n1_evil", Some("n1_evil")),
        ("_INBOX.*.n1.>", None),
        ("_INBOX.evil.*.>", None),
        ("*.>", None),
    ];
    subscriptions_are_refused(mode, "evil.n1", &wider).await
}
