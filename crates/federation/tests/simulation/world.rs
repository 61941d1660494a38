//! Time, the network between realms, and what happens next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::time::Duration;

use bytes::Bytes;
use mesh_core::guard::Now;
use mesh_core::mx::{MailboxKind, ReplyId, Topic};
use mesh_core::name::RealmName;
use mesh_core::subject::Subject;
use mesh_core::time::Timestamp;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use crate::acts::Act;
use crate::faults::Fault;
use crate::node::Node;
use crate::plan::{BUSY, Plan};
use crate::tree;
use crate::truth::Truth;

/// Something that will happen.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    Act(Act),
    Fault(Fault),
    /// A mailbox of the node brings this.
    Mail(usize, MailboxKind, Bytes),
    /// The route inbox of the node brings this.
    Route(usize, Bytes),
    /// A component of the node is asked, or told.
    Inside(usize, Subject, Bytes),
    /// A component replies.
    Reply(usize, ReplyId, Bytes),
    /// The node's gateway wanted to be woken.
    Wake(usize),
    /// The caller at the node waits no longer.
    GiveUp(usize, u64),
    /// The node's feed says something.
    Tick(usize),
}

/// What a seed came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) hash: u64,
    pub(crate) happenings: u64,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    pub(crate) broken: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct World {
    seed: u64,
    pub(crate) plan: Plan,
    pub(crate) random: StdRng,
    /// Milliseconds since the beginning.
    pub(crate) now: u64,
    next: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    happenings: HashMap<u64, Happening>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) by_realm: HashMap<RealmName, usize>,
    pub(crate) divided: u64,
    pub(crate) truth: Truth,
    /// What was sent lately, for who sends it again.
    pub(crate) captured: Vec<(Subject, Bytes)>,
    hash: u64,
    counts: BTreeMap<&'static str, u64>,
}

/// More than any seed has: a world that never comes to rest is stopped.
const MOST: u64 = 300_000;

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let plan = Plan::new(&mut random);
        let nodes: Vec<Node> = tree::grow(&plan, &mut random)
            .into_iter()
            .map(|routes| Node::new(routes, random.random()))
            .collect();
        let by_realm =
            nodes.iter().enumerate().map(|(at, node)| (node.realm.clone(), at)).collect();
        let mut world = Self {
            seed,
            plan,
            random,
            now: 0,
            next: 0,
            queue: BinaryHeap::new(),
            happenings: HashMap::new(),
            nodes,
            by_realm,
            divided: 0,
            truth: Truth::default(),
            captured: Vec::new(),
            hash: 0xcbf2_9ce4_8422_2325,
            counts: BTreeMap::new(),
        };
        for node in 0..world.nodes.len() {
            let seed = world.seed_of(node);
            world.nodes[node].start(&world.plan, seed, 0);
        }
        world.plan_faults();
        world.plan_acts();
        world
    }

    /// Until nothing happens any more.
    pub(crate) fn run(mut self) -> Story {
        let mut happenings = 0;
        let mut healed = false;
        while let Some(Reverse((time, number))) = self.queue.pop() {
            if time > BUSY && !healed {
                healed = true;
                self.heal();
            }
            self.now = time;
            let Some(happening) = self.happenings.remove(&number) else {
                continue;
            };
            self.note(&happening);
            self.happen(happening);
            happenings += 1;
            if happenings > MOST || !self.truth.broken.is_empty() {
                break;
            }
        }
        if happenings > MOST {
            self.truth.broken(format!("not at rest after {MOST} happenings"));
        } else if self.truth.broken.is_empty() {
            self.truth.at_rest(&self.nodes);
        }
        let Self { hash, counts, truth, .. } = self;
        Story { hash, happenings, counts, broken: truth.broken }
    }

    fn heal(&mut self) {
        self.divided = 0;
        for node in 0..self.nodes.len() {
            self.fault(&Fault::Start(node));
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Act(act) => self.act(act),
            Happening::Fault(fault) => self.fault(&fault),
            Happening::Mail(node, kind, bytes) => self.mail(node, kind, &bytes),
            Happening::Route(node, bytes) => self.route(node, &bytes),
            Happening::Inside(node, subject, bytes) => self.inside(node, &subject, &bytes),
            Happening::Reply(node, id, bytes) => self.reply(node, id, &bytes),
            Happening::Wake(node) => self.woken(node),
            Happening::GiveUp(node, question) => self.give_up(node, question),
            Happening::Tick(node) => self.tick(node),
        }
    }

    /// Lets something happen at a time.
    pub(crate) fn at(&mut self, time: u64, happening: Happening) {
        self.next += 1;
        self.queue.push(Reverse((time.max(self.now), self.next)));
        self.happenings.insert(self.next, happening);
    }

    /// Lets something happen so many milliseconds from now.
    pub(crate) fn after(&mut self, millis: u64, happening: Happening) {
        self.at(self.now + millis, happening);
    }

    /// What a clock shows.
    pub(crate) fn clock(&self) -> Now {
        let wall = 1_767_225_600_000 + i64::try_from(self.now).expect("not that late");
        Now { wall: Timestamp::from_millis(wall), monotonic: Duration::from_millis(self.now) }
    }

    pub(crate) fn seed_of(&self, node: usize) -> u64 {
        self.seed.wrapping_mul(1_009).wrapping_add(u64::try_from(node).expect("few nodes"))
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// A message for another realm, or for the own mailbox: late, lost, or twice.
    pub(crate) fn send(&mut self, from: usize, subject: &Subject, bytes: &Bytes) {
        let topic = subject.as_str().parse();
        let (realm, kind) = match topic {
            Ok(Topic::Mailbox(kind, realm)) => (realm, Some(kind)),
            Ok(Topic::RouteInbox(realm, _)) => (realm, None),
            _ => return self.truth.broken(format!("published on the backbone: {subject}")),
        };
        let Some(to) = self.by_realm.get(&realm).copied() else {
            return self.count("sent to nobody");
        };
        let copies = if self.chance(self.plan.repeated) { 2 } else { 1 };
        for copy in 0..copies {
            if copy == 1 {
                self.count("repeated");
            }
            if self.is_divided(from, to) || self.chance(self.plan.lost) {
                self.count("lost");
                continue;
            }
            let way = self.random.random_range(1..=self.plan.latency);
            let happening = match kind {
                Some(kind) => Happening::Mail(to, kind, bytes.clone()),
                None => Happening::Route(to, bytes.clone()),
            };
            self.after(way, happening);
        }
    }

    fn chance(&mut self, of_a_thousand: u32) -> bool {
        self.random.random_ratio(of_a_thousand, 1_000)
    }

    /// FNV-1a over everything that happens, in its order.
    fn note(&mut self, happening: &Happening) {
        let (kind, node, bytes): (u8, usize, &[u8]) = match happening {
            Happening::Act(_) => (0, 0, &[]),
            Happening::Fault(_) => (1, 0, &[]),
            Happening::Mail(node, _, bytes) => (2, *node, bytes),
            Happening::Route(node, bytes) => (3, *node, bytes),
            Happening::Inside(node, _, bytes) => (4, *node, bytes),
            Happening::Reply(node, id, _) => (5, *node, &id.0),
            Happening::Wake(node) => (6, *node, &[]),
            Happening::GiveUp(node, _) => (7, *node, &[]),
            Happening::Tick(node) => (8, *node, &[]),
        };
        let node = u8::try_from(node).unwrap_or(u8::MAX);
        for byte in
            self.now.to_le_bytes().into_iter().chain([kind, node]).chain(bytes.iter().copied())
        {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
