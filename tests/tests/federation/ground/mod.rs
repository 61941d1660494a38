//! Where realms meet: a backbone between them and a bus inside each, on any broker, chosen at run time. Every
//! gateway and every component has an account of its own with exact rights, where the broker has rights.

mod amqp;
mod memory;
mod nats;
mod plan;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_core::identity::Principal;
use mesh_core::mx::{MailboxKind, Shard};
use mesh_core::name::RealmName;
use mesh_core::port::{Clock, Connection};
use mesh_core::subject::Subject;

use amqp::Amqp;
use memory::{Inside, Memory};
use nats::Nats;
pub(crate) use plan::RealmPlan;

/// Both kinds of mailbox that a realm has while it moves from one wire to the other.
pub(crate) const BOTH: [MailboxKind; 2] = [MailboxKind::Legacy, MailboxKind::Mx(Shard(0))];

/// How long a broker on a busy machine may take to tell of what it holds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which brokers: first the backbone's, then the buses' inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    Memory,
    NatsAndMemory,
    Nats,
    AmqpAndMemory,
    Amqp,
}

impl Ground {
    pub(crate) const ALL: [Self; 5] =
        [Self::Memory, Self::NatsAndMemory, Self::Nats, Self::AmqpAndMemory, Self::Amqp];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::NatsAndMemory => "nats_and_memory",
            Self::Nats => "nats",
            Self::AmqpAndMemory => "amqp_and_memory",
            Self::Amqp => "amqp",
        }
    }

    /// Whether subscriptions on the backbone can share.
    pub(crate) fn has_groups(self) -> bool {
        self != Self::Memory
    }

    /// Whether the bus inside a realm asks for rights, as a broker's does.
    pub(crate) fn has_rights_inside(self) -> bool {
        matches!(self, Self::Nats | Self::Amqp)
    }

    /// Whether the backbone's server is a test's own, and may be killed.
    pub(crate) fn can_crash(self) -> bool {
        matches!(self, Self::NatsAndMemory | Self::Nats)
    }

    /// Raises the brokers, with everybody in the plans connected. The connections go by `clock`.
    pub(crate) async fn raise(self, plans: Vec<RealmPlan>, clock: Arc<dyn Clock>) -> Field {
        let plans: Vec<Placed> = plans.into_iter().enumerate().map(Placed::new).collect();
        let backbone = match self {
            Self::Memory => Backbone::Memory(Memory::raise(&clock)),
            Self::NatsAndMemory => Backbone::Nats(Box::new(Nats::raise(&plans, false).await)),
            Self::Nats => Backbone::Nats(Box::new(Nats::raise(&plans, true).await)),
            Self::AmqpAndMemory => Backbone::Amqp(Amqp::raise(&plans, false).await),
            Self::Amqp => Backbone::Amqp(Amqp::raise(&plans, true).await),
        };
        let inside_too = self.has_rights_inside();
        let mut realms = Vec::new();
        for placed in &plans {
            let dial = async |who: Principal, inside: bool| {
                let dialled = match &backbone {
                    Backbone::Memory(memory) => memory.dial(who),
                    Backbone::Nats(nats) => nats.dial(&who, inside.then_some(placed)).await,
                    Backbone::Amqp(amqp) => amqp.dial(&who, inside.then_some(placed)).await,
                };
                timed_by(&dialled, &clock)
            };
            let between = dial(placed.gateway(), false).await;
            let sibling = dial(placed.gateway(), false).await;
            let (gateway, app) = if inside_too {
                (dial(placed.gateway(), true).await, dial(placed.app(), true).await)
            } else {
                let bus = Inside::raise(&clock);
                (bus.dial(placed.gateway()), bus.dial(placed.app()))
            };
            let (name, kinds) = (placed.plan.name.clone(), placed.plan.kinds.clone());
            realms.push(Realm { name, kinds, between, sibling, gateway, app });
        }
        Field { backbone, realms }
    }
}

/// The brokers with the realms on them.
pub(crate) struct Field {
    backbone: Backbone,
    pub(crate) realms: Vec<Realm>,
}

/// One realm's connections.
pub(crate) struct Realm {
    pub(crate) name: RealmName,
    /// Its mailboxes.
    pub(crate) kinds: Vec<MailboxKind>,
    /// Its gateway's on the backbone.
    pub(crate) between: Connection,
    /// Another gateway's of the same realm, on the backbone.
    pub(crate) sibling: Connection,
    /// Its gateway's on the bus inside.
    pub(crate) gateway: Connection,
    /// Its component's on the bus inside.
    pub(crate) app: Connection,
}

impl Realm {
    /// The topics of its mailboxes.
    pub(crate) fn mailboxes(&self) -> impl Iterator<Item = Subject> + '_ {
        self.kinds.iter().map(|kind| kind.subject(&self.name))
    }
}

enum Backbone {
    Memory(Memory),
    Nats(Box<Nats>),
    Amqp(Amqp),
}

/// What a backbone holds, by its own word.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    /// How many listen.
    subscriptions: usize,
    /// To what; nothing where the broker has exact subscriptions and no others.
    filters: Option<BTreeSet<String>>,
}

impl Field {
    /// The realm of that number.
    pub(crate) fn realm(&self, number: usize) -> &Realm {
        &self.realms[number]
    }

    /// Who listens on the backbone, as the broker tells. What an adapter needs for itself, such as the inbox of
    /// its own connection, is left out.
    async fn held(&self) -> Held {
        match &self.backbone {
            Backbone::Memory(memory) => memory.held(),
            Backbone::Nats(nats) => nats.held().await,
            Backbone::Amqp(amqp) => amqp.held().await,
        }
    }

    /// Returns once exactly these topics are listened to on the backbone, each once, or fails the test. What
    /// was subscribed is there at once; brokers tell of it, and of what was given up, some time later.
    pub(crate) async fn listens_to(&self, topics: &BTreeSet<String>) {
        let due = Instant::now() + PATIENCE;
        loop {
            let held = self.held().await;
            let same = held.filters.as_ref().is_none_or(|filters| filters == topics);
            if same && held.subscriptions == topics.len() {
                return;
            }
            assert!(Instant::now() < due, "wanted are {topics:?}, there are {held:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The mailboxes of all realms.
    pub(crate) fn mailboxes(&self) -> BTreeSet<String> {
        let topics = self.realms.iter().flat_map(Realm::mailboxes);
        topics.map(|topic| topic.as_str().to_owned()).collect()
    }

    /// Kills the backbone's server and starts it again where it was.
    pub(crate) async fn crash(&self) {
        let Backbone::Nats(nats) = &self.backbone else { panic!("not a test's own server") };
        nats.crash().await;
    }
}

/// A plan with its place: realms are numbered, so that the names of accounts are short and their own.
struct Placed {
    number: u8,
    plan: RealmPlan,
}

impl Placed {
    fn new((number, plan): (usize, RealmPlan)) -> Self {
        Self { number: u8::try_from(number).unwrap(), plan }
    }

    fn gateway(&self) -> Principal {
        Principal::Gateway { name: format!("g{}", self.number).parse().unwrap() }
    }

    fn app(&self) -> Principal {
        Principal::Module {
            node: format!("n{}", self.number).parse().unwrap(),
            module: "app".parse().unwrap(),
        }
    }
}

/// The same connection by another clock, and with the one port that federation is given.
fn timed_by(connection: &Connection, clock: &Arc<dyn Clock>) -> Connection {
    let (principal, transport) = (connection.principal().clone(), connection.transport());
    Connection::new(principal, Arc::clone(clock), Arc::clone(transport))
}
