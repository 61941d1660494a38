//! What a realm is to be, and the rights that follow.

use mesh_core::identity::Principal;
use mesh_core::mx::{MailboxKind, MxPath, Shard, Topic};
use mesh_core::name::RealmName;
use mesh_core::permissions::{Permissions, RealmGrants, Rules};
use mesh_core::port::QueueGroup;
use mesh_core::subject::Filter;

use super::{BOTH, Placed};

/// What the gateway serves itself.
const FACADES: [&str; 6] = [
    "_federation.accepts.subscribe",
    "_federation.accepts.refresh",
    "_federation.accepts.unsubscribe",
    "sessions.accepts.register",
    "sessions.accepts.heartbeat",
    "sessions.accepts.lookup",
];

/// A realm with its mailboxes, and with one component.
pub(crate) struct RealmPlan {
    pub(crate) name: RealmName,
    pub(crate) kinds: Vec<MailboxKind>,
    accepts: Vec<MxPath<'static>>,
    emits: Vec<MxPath<'static>>,
    hears: Vec<MxPath<'static>>,
    beside: Vec<RealmName>,
    shared: bool,
}

impl RealmPlan {
    /// A realm that reads both wires.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.parse().unwrap(),
            kinds: BOTH.to_vec(),
            accepts: Vec::new(),
            emits: Vec::new(),
            hears: Vec::new(),
            beside: Vec::new(),
            shared: false,
        }
    }

    /// The same with a gateway that shares its mailboxes with others of the realm, as gateways do. Without
    /// this the test reads them by hand.
    pub(crate) fn guarded(mut self) -> Self {
        self.shared = true;
        self
    }

    /// The same with these mailboxes and no others.
    pub(crate) fn with_kinds(mut self, kinds: &[MailboxKind]) -> Self {
        self.kinds = kinds.to_vec();
        self
    }

    /// The same with commands that its component takes.
    pub(crate) fn accepts(mut self, path: &str) -> Self {
        self.accepts.push(path.parse().unwrap());
        self
    }

    /// The same with events that its component says.
    pub(crate) fn emits(mut self, path: &str) -> Self {
        self.emits.push(path.parse().unwrap());
        self
    }

    /// The same with events that its component hears, of other realms too.
    pub(crate) fn hears(mut self, path: &str) -> Self {
        self.hears.push(path.parse().unwrap());
        self
    }

    /// The same as a router beside those.
    pub(crate) fn beside(mut self, realms: &[&str]) -> Self {
        self.beside = realms.iter().map(|realm| realm.parse().unwrap()).collect();
        self
    }
}

impl Placed {
    /// What its gateway may do on the backbone: each mailbox of every other realm, and its own.
    pub(super) fn between(&self, all: &[Self]) -> Permissions {
        let Principal::Gateway { name } = self.gateway() else { unreachable!() };
        let peers = all.iter().filter(|other| other.number != self.number);
        let peers: Vec<_> = peers
            .flat_map(|peer| peer.plan.kinds.iter().map(|kind| (peer.plan.name.clone(), *kind)))
            .collect();
        let plan = &self.plan;
        let may = if plan.shared {
            let group = QueueGroup::new("mx-edge").unwrap();
            Permissions::of_shared_gateway(&name, &plan.name, &plan.kinds, &peers, &group)
        } else {
            Permissions::of_gateway(&name, &plan.name, &plan.kinds, &peers)
        };
        if plan.beside.is_empty() {
            return may;
        }
        // What a realm itself sends through the tree begins at its own router.
        let own = Permissions {
            publish: Rules::allow([Filter::from(Topic::route_inbox(&plan.name, Shard::default()))]),
            ..Permissions::default()
        };
        may.and(Permissions::of_router(&name, &plan.name, &plan.beside)).and(own)
    }

    /// What its gateway and its component may do inside.
    pub(super) fn inside(&self) -> [(Principal, Permissions); 2] {
        let plan = &self.plan;
        let facades = FACADES.map(|path| path.parse::<MxPath<'static>>().unwrap());
        // Answers that came to another gateway of the realm.
        let handed = ["_edge.emits.answer".parse::<MxPath<'static>>().unwrap()];
        let gateway = RealmGrants {
            accepts: facades.to_vec(),
            calls: plan.accepts.iter().chain(&facades).cloned().collect(),
            emits: plan.hears.iter().chain(&handed).cloned().collect(),
            hears: plan.emits.iter().chain(&handed).cloned().collect(),
            serves_watches: true,
            ..RealmGrants::default()
        };
        let app = RealmGrants {
            accepts: plan.accepts.clone(),
            calls: plan.accepts.iter().chain(&facades).cloned().collect(),
            emits: plan.emits.clone(),
            hears: plan.hears.clone(),
            watches: true,
            ..RealmGrants::default()
        };
        [(self.gateway(), gateway), (self.app(), app)].map(|(who, grants)| {
            let may = Permissions::of_realm(&who, &plan.name, &grants).unwrap();
            (who, may)
        })
    }
}
