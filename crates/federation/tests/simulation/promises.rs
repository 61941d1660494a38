//! What has to hold, each as a function that is told what happened.

use mesh_core::mx::{DEFAULT_MAX_BYTES, MailboxKind, Passage, Topic};
use mesh_core::name::RealmName;
use mesh_core::subject::Subject;
use mesh_federation::edge::Outgoing;
use mesh_federation::lease::{Lease, LeaseId};

use crate::gateway::answered;
use crate::letters::{Claim, Token};
use crate::node::Node;
use crate::plan::SLOTH;
use crate::truth::{Ending, Given, Truth};

/// What happens in a hundred seeds at the least. Without it, promises would hold for want of a try.
pub(crate) const TRIED: [&str; 36] = [
    "addressed",
    "answer of another realm",
    "answer to nobody",
    "answered",
    "came while down",
    "crashes",
    "decode",
    "delivered",
    "down",
    "ended by a crash",
    "expiry",
    "forwarded",
    "given up",
    "handled",
    "heard",
    "late reply",
    "leases ended",
    "leases extended",
    "leases refused",
    "leases taken back",
    "lost",
    "malformed",
    "no_child",
    "no_parent",
    "nobody serves",
    "refused",
    "relay",
    "repeated",
    "replay",
    "reply to a gateway that is gone",
    "sent to nobody",
    "timed out inside",
    "transit",
    "ttl_spent",
    "ttl_too_big",
    "up",
];

const CODES: [&str; 8] = [
    "DESK.NO",
    "MX.EDGE.HANDLER_ERROR",
    "MX.EDGE.TIMEOUT",
    "MX.EDGE.RATE_LIMITED",
    "MX.EDGE.POLICY_DENIED",
    "MX.SUB.BAD_SOURCE",
    "MX.SUB.NOT_FOUND",
    "MX.SUB.LIMIT",
];
const OPEN: [&str; 3] = ["subscribe", "refresh", "unsubscribe"];

impl Truth {
    /// Every question ends once, with its own answer.
    pub(crate) fn ended(&mut self, question: Token, ending: &Ending) {
        let count = self.questions.entry(question).or_default();
        *count += 1;
        let once = *count == 1;
        self.expect(once, || format!("question {question} ended again, {ending:?}"));
        match ending {
            Ending::Answered(token) => self.expect(*token == Some(question), || {
                format!("question {question} got the answer to {token:?}")
            }),
            Ending::Refused(code) => self.expect(CODES.contains(&code.as_str()), || {
                format!("question {question} was refused with {code}")
            }),
            Ending::TimedOut | Ending::Closed => {}
        }
    }

    /// A component sees what is for its realm, from whom it says, and once in a life of its gateway.
    pub(crate) fn handled(&mut self, here: &Node, token: Option<Token>, from: Option<&RealmName>) {
        let Some((token, letter)) =
            token.and_then(|token| Some((token, self.letter(token)?.clone())))
        else {
            return self.broken(format!("{} was asked what nobody wrote", here.realm));
        };
        let realm = &here.realm;
        self.expect(letter.to == *realm, || {
            format!("{realm} was asked {token}, for {}", letter.to)
        });
        self.expect(letter.never.is_none(), || {
            format!("{realm} was asked {token}: {:?}", letter.never)
        });
        self.expect(from.is_none_or(|from| *from == letter.from), || {
            format!("{realm} was told that {token} is from {from:?}, not {}", letter.from)
        });
        let before = self.handled.insert((realm.clone(), token), here.life);
        self.expect(before != Some(here.life), || format!("{realm} was asked {token} twice"));
        self.handled_after_crash += u64::from(before.is_some());
    }

    /// The gateway may answer this letter.
    pub(crate) fn owe(&mut self, here: &Node, claim: Option<&Claim>, kind: MailboxKind) {
        let owed = claim.and_then(|claim| Some((claim.from.clone()?, claim.correlation.clone()?)));
        let Some((from, correlation)) = owed else {
            return self.broken(format!("{} answers what says nothing", here.realm));
        };
        self.expect(claim.and_then(answered) == Some(&from), || {
            format!("{} answers a letter of {from} to another realm", here.realm)
        });
        let key = (here.realm.clone(), here.life, from, kind, correlation);
        *self.owed.entry(key).or_default() += 1;
    }

    /// An answer goes to the mailbox of who asked, of the kind that the question came in by, and once.
    pub(crate) fn goes_back(
        &mut self,
        here: &Node,
        answer: &Outgoing,
        subject: &Subject,
        correlation: Option<&str>,
    ) {
        let (realm, kind) = (answer.realm().clone(), answer.mailbox());
        self.expect(*subject == kind.subject(&realm), || {
            format!("an answer was sent to {subject}")
        });
        let correlation = correlation.unwrap_or_default().to_owned();
        let key = (here.realm.clone(), here.life, realm, kind, correlation);
        match self.owed.get_mut(&key) {
            Some(owed) if *owed > 0 => *owed -= 1,
            _ => self.broken(format!("{} answers to {subject} what was not asked", here.realm)),
        }
    }

    /// What goes inside goes where the letter says, in this very realm, and not to its own works.
    pub(crate) fn stays_inside(&mut self, here: &Node, claim: Option<&Claim>, subject: &Subject) {
        self.addressed(here, claim);
        let path = claim.and_then(|claim| claim.path.as_deref()).unwrap_or_default();
        let expected = format!("mx/1/{}/{path}", here.realm);
        self.expect(subject.as_str() == expected, || format!("{subject} instead of {expected}"));
        let open =
            path.strip_prefix("_federation.accepts.").is_some_and(|rest| OPEN.contains(&rest));
        let hidden = path.split(['/', '.']).any(|part| part.starts_with('_'));
        self.expect(open || !hidden, || format!("a remote reached {subject}"));
    }

    /// A realm acts on nothing that is addressed to another.
    pub(crate) fn addressed(&mut self, here: &Node, claim: Option<&Claim>) {
        let to = claim.and_then(|claim| claim.to.as_ref());
        self.expect(to.is_none_or(|to| *to == here.realm), || {
            format!("{} acted on a letter to {to:?}", here.realm)
        });
    }

    /// A router sends to its neighbours or its own mailbox, what concerns a realm below it, with one hop
    /// less and not another byte changed.
    pub(crate) fn passed_on(
        &mut self,
        here: &Node,
        came: &Passage<'_>,
        subject: &Subject,
        onward: &[u8],
    ) {
        let (realm, routes) = (&here.realm, &here.routes);
        let Ok(goes) = Passage::read(onward, DEFAULT_MAX_BYTES) else {
            return self.broken(format!("{realm} passed on what is no envelope"));
        };
        self.expect(goes.with_ttl(0) == came.with_ttl(0), || format!("{realm} changed a letter"));
        let to = &came.envelope().to.realm;
        if *subject == MailboxKind::default().subject(realm) {
            self.expect(*to == *realm, || format!("{realm} delivered what is for {to}"));
            return self
                .expect(goes.ttl() == came.ttl(), || format!("{realm} changed its own ttl"));
        }
        let next = match subject.as_str().parse() {
            Ok(Topic::RouteInbox(next, _)) => next,
            _ => return self.broken(format!("{realm} passed on to {subject}")),
        };
        let below = |name: &str| {
            let above = |above: &RealmName| {
                name == above.as_str() || name.starts_with(&format!("{above}."))
            };
            above(realm) || routes.children().any(above)
        };
        let from = &came.envelope().from.realm;
        self.expect(below(from.as_str()) || below(to.as_str()), || {
            format!("{realm} passed on from {from} to {to}")
        });
        let neighbour = routes.parent() == Some(&next) || routes.has_child(&next);
        self.expect(neighbour, || format!("{realm} passed on to {next}, no neighbour"));
        let (before, after) = (came.ttl().unwrap_or(8), goes.ttl());
        self.expect(after.is_some_and(|ttl| ttl > 0 && ttl + 1 == before && ttl < 64), || {
            format!("{realm} passed on with ttl {after:?}, which came with {before}")
        });
    }

    /// A lease lasts as long as was asked for, and is never shortened.
    pub(crate) fn given(&mut self, here: &Node, lease: &Lease, asked: u64, now: u64) {
        let key = (here.realm.clone(), lease.id());
        let before = self.leases.get(&key).map_or(0, |given| given.ends);
        let ends = before.max(now + asked);
        self.expect(lease.ends == ends, || format!("a lease until {}, not {ends}", lease.ends));
        self.leases.insert(key, Given { sink: lease.sink_realm.clone(), ends });
    }

    /// A lease is taken back by its owner alone.
    pub(crate) fn taken_back(&mut self, here: &Node, id: LeaseId, by: &RealmName) {
        let given = self.leases.remove(&(here.realm.clone(), id));
        self.expect(given.is_some_and(|given| given.sink == *by), || {
            format!("{by} ended a lease of another realm at {}", here.realm)
        });
    }

    /// A lease ends when its time is over, once, and soon unless its gateway was away.
    pub(crate) fn over(&mut self, here: &Node, lease: &Lease, now: u64) {
        let Some(given) = self.leases.remove(&(here.realm.clone(), lease.id())) else {
            return self.broken(format!("a lease at {} ended that was not given", here.realm));
        };
        let due = given.ends.max(here.since);
        self.expect((due..=due + SLOTH).contains(&now), || {
            format!("a lease ended at {now} that was due at {due}")
        });
    }

    /// An event goes only to who has a lease of it now.
    pub(crate) fn forwarded(&mut self, here: &Node, id: LeaseId, sink: &RealmName, now: u64) {
        let given = self.leases.get(&(here.realm.clone(), id));
        let alive = given.is_some_and(|given| given.sink == *sink && now < given.ends);
        self.expect(alive, || format!("{} forwarded to {sink} without a lease", here.realm));
    }

    /// What leases a gateway had in memory is gone with it, and nobody is told.
    pub(crate) fn leases_forgotten(&mut self, realm: &RealmName) {
        self.leases.retain(|(keeper, _), _| keeper != realm);
    }

    /// In the end nothing is left, and every question has ended.
    pub(crate) fn at_rest(&mut self, nodes: &[Node]) {
        let open: Vec<_> =
            self.questions.iter().filter(|(_, ends)| **ends != 1).map(|(q, _)| *q).collect();
        self.expect(open.is_empty(), || format!("questions that never ended: {open:?}"));
        let leases = self.leases.len();
        self.expect(leases == 0, || format!("{leases} leases ended in silence"));
        for node in nodes {
            let Some(up) = &node.up else {
                self.broken(format!("{} is down in the end", node.realm));
                continue;
            };
            let left = (
                up.edge.pending(),
                up.edge.under_way(),
                up.edge.waiting(),
                up.answers.counts().pending,
                up.questions.len(),
                up.leases.len(),
            );
            self.expect(left == (0, (0, 0), 0, 0, 0, 0), || {
                format!("{} has something left: {left:?}", node.realm)
            });
            let owes = self.owed.iter().find(|((realm, life, ..), owed)| {
                *realm == node.realm && *life == node.life && **owed > 0
            });
            let owes = owes.map(|(key, _)| format!("an answer is owed: {key:?}"));
            self.expect(owes.is_none(), || owes.unwrap_or_default());
        }
    }
}
