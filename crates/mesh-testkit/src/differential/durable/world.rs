use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Capability, Reason};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{ConsumerRules, ConsumerSpec, StreamName, Topology};

use super::{Place, Why};
use crate::differential::drive::Common;
use crate::fixtures::{
    consumer, consumer_spec, controller, filter, host, module, permissions, subject, with_stream,
};

/// How long what is given back for later waits.
pub(super) const DELAY: Duration = Duration::from_millis(300);
/// How long a delivery may stay unsettled in a run that lets claims run out.
const SHORT: Duration = Duration::from_secs(2);
/// The same in any other: longer than any run.
const LONG: Duration = Duration::from_secs(600);

impl Place {
    pub(super) fn subject(self) -> Subject {
        subject(match self {
            Self::Sold => "mesh.events.shop.sold",
            Self::Left => "mesh.events.shop.left",
            Self::Replay => "mesh.replay.n1_mail.shop.sold",
            Self::Report => "mesh.control.n1.report",
            Self::Declare => "mesh.node.n1.declare",
            Self::Nowhere => "mesh.nowhere.n1.note",
        })
    }

    pub(super) fn stream(self) -> Option<StreamName> {
        match self {
            Self::Sold | Self::Left | Self::Replay => Some(StreamName::Events),
            Self::Report => Some(StreamName::Control),
            Self::Declare => Some(StreamName::Nodes),
            Self::Nowhere => None,
        }
    }
}

impl Why {
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::Useless => Reason::new("no use"),
            Self::Undecodable => Reason::undecodable("no JSON"),
            Self::Unverifiable => Reason::unverifiable("another source"),
        }
    }
}

/// How long claims last in a run.
pub(super) fn claims(lapse: bool) -> Duration {
    if lapse { SHORT } else { LONG }
}

/// The consumers, with who reads each: everything of the shop in two tries, at most four at a time;
/// one event without a limit, two at a time; reports one at a time; declarations.
pub(super) fn consumers(ack_wait: Duration, common: &Common) -> Vec<(ConsumerSpec, Principal)> {
    let spec = |stream, name, filters: &[&str], change: fn(&mut ConsumerRules)| {
        let mut spec = consumer_spec(consumer(stream, name), filters, ack_wait);
        change(&mut spec.rules);
        spec
    };
    let mail = ["mesh.events.shop.>", "mesh.replay.n1_mail.>"];
    let mut all = vec![
        (
            spec(StreamName::Events, "n1_mail", &mail, |rules| {
                rules.max_deliver = Some(2);
                rules.max_ack_pending = 4;
            }),
            module("n1", "mail"),
        ),
        (
            spec(StreamName::Events, "n1_crm", &["mesh.events.shop.sold"], |rules| {
                rules.max_deliver = None;
                rules.max_ack_pending = 2;
            }),
            module("n1", "crm"),
        ),
        (
            spec(StreamName::Control, "controller", &["mesh.control.n1.report"], |rules| {
                rules.max_deliver = None;
                rules.max_ack_pending = 1;
            }),
            controller(),
        ),
    ];
    if common.has(Capability::NewestPerSubject) {
        let declarations = spec(StreamName::Nodes, "n1", &["mesh.node.n1.declare"], |rules| {
            *rules =
                ConsumerRules { ack_wait: rules.ack_wait, ..ConsumerRules::of(StreamName::Nodes) };
        });
        all.push((declarations, host("n1")));
    }
    all
}

/// Streams so small that they are full now and then.
pub(super) fn topology(consumers: &[(ConsumerSpec, Principal)]) -> Topology {
    let small = |topology, name, most| {
        with_stream(topology, name, |stream| stream.max_messages_per_subject = Some(most))
    };
    let topology = small(Topology::new(), StreamName::Events, 8);
    let topology = small(topology, StreamName::Control, 4);
    consumers.iter().fold(topology, |topology, (spec, _)| topology.with_consumer(spec.clone()))
}

/// What is listened to live: the shop's events, or one of them.
pub(super) fn window(common: &Common) -> Filter {
    let all = common.has(Capability::Wildcards);
    filter(if all { "mesh.events.shop.>" } else { "mesh.events.shop.sold" })
}

pub(super) fn clerk() -> (Principal, Permissions) {
    let clerk = module("n1", "clerk");
    let may = permissions(&clerk, &["mesh.events.shop.sold"], &[]);
    (clerk, may)
}
