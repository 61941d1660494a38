use std::sync::Arc;
use std::time::Duration;

use mesh_core::guard::{ChainCounters, Decision, HashSecret, Now, Outcome, Refusal};
use mesh_core::mx::{EdgeCode, MailboxKind, MsgType, ReplyId, decode};
use mesh_core::name::RealmName;
use tokio::sync::broadcast;

use super::decisions::{Decided, Decisions, Message};
use super::guards::Shelf;
use super::passage::{Passage, Progress, Waiting};
use super::pending::Pending;
use super::places::Places;
use super::tally::{EdgeCounters, Tally, count};
use super::{Arrival, Dropped, EdgeConfig, EdgeLimits, EdgeRules, Reaction, RulesError};
use crate::{Answers, Random};

/// A realm's gateway without its connections: what comes in goes in as bytes, and what is to be done
/// about it comes out. It sends nothing, waits for nothing and has no clock, so that a test, a fuzzer
/// or a simulation can drive it; [`EdgeGateway`](super::EdgeGateway) drives it in earnest.
///
/// The order of calls for one message:
///
/// 1. [`receive`](Self::receive) with what a mailbox brought. While that says
///    [`Wait`](Reaction::Wait), [`Waiting::proceed`].
/// 2. Where it says [`Ask`](Reaction::Ask), publish the request; where that fails,
///    [`unsent`](Self::unsent).
/// 3. [`reply`](Self::reply) with what a reply topic brought, or [`expire`](Self::expire) at
///    [`next_deadline`](Self::next_deadline), gives the answer to publish.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use mesh_core::guard::Now;
/// use mesh_core::mx::MailboxKind;
/// use mesh_core::name::RealmName;
/// use mesh_core::time::Timestamp;
/// use mesh_federation::{Seeded, edge::{Edge, EdgeConfig, Reaction}};
///
/// let config = EdgeConfig::new(RealmName::new("acme.com")?);
/// let edge = Edge::new(config, Arc::new(Seeded::new(7)))?;
/// let now = Now { wall: Timestamp::from_millis(0), monotonic: Duration::ZERO };
///
/// let request = br#"{"fromRealm":"shop","toPath":"stock.accepts.count","correlationId":"c-1"}"#;
/// let Reaction::Ask(ask) = edge.receive(request, MailboxKind::Legacy, now) else { panic!() };
/// assert_eq!(ask.message.subject().as_str(), "mx/1/acme.com/stock.accepts.count");
///
/// let answer = edge.reply(ask.id, b"[1]", now).answer().expect("the first reply");
/// assert_eq!(answer.message().subject().as_str(), "public.ingress.shop");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Edge {
    pub(super) realm: RealmName,
    pub(super) limits: EdgeLimits,
    pub(super) timeout: Duration,
    pub(super) include_envelope: bool,
    pub(super) random: Arc<dyn Random>,
    pub(super) pending: Pending,
    pub(super) tally: Tally,
    /// The questions that answers are looked for in before the guards.
    pub(super) questions: Option<Answers>,
    shelf: Shelf,
    waiting: Places,
    decisions: broadcast::Sender<Arc<Decided>>,
}

/// How many decisions wait for a slow reader.
const DECISIONS: usize = 1_024;

impl Edge {
    /// A gateway that takes its ids, and the secret of its tables, from `random`.
    ///
    /// # Errors
    /// [`RulesError`] where the configuration makes no sense.
    pub fn new(config: EdgeConfig, random: Arc<dyn Random>) -> Result<Self, RulesError> {
        let EdgeConfig { realm, rules, replay, limits, timeout, include_envelope } = config;
        limits.check()?;
        let secret = HashSecret::new(random.bits());
        Ok(Self {
            shelf: Shelf::new(realm.clone(), secret, replay, rules)?,
            pending: Pending::new(limits.pending, limits.pending_per_realm),
            waiting: Places::new(limits.max_waiting),
            decisions: broadcast::Sender::new(DECISIONS),
            tally: Tally::default(),
            questions: None,
            realm,
            limits,
            timeout,
            include_envelope,
            random,
        })
    }

    /// Decides about what a mailbox of this kind brought. A guard that panics, panics through here.
    pub fn receive<'a>(&self, bytes: &'a [u8], mailbox: MailboxKind, now: Now) -> Reaction<'a> {
        count(&self.tally.received);
        let guards = self.shelf.guards();
        let decoded = match decode(bytes, self.limits.max_bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                let Decision { outcome, .. } = guards.undecodable(&error);
                self.tell(mailbox, None, bytes.len(), &outcome, None, now);
                return self.dropped(outcome);
            }
        };
        let mut arrival = Arrival::new(decoded, bytes, mailbox, &self.realm);
        if let Some(questions) = &self.questions {
            arrival.look_for_question(questions);
        }
        let traced = self.decisions.receiver_count() > 0;
        let mut passage = Box::new(Passage::new(arrival, guards, traced));
        let outcome = match passage.run(now) {
            Progress::Passed => {
                return self
                    .route(passage, now)
                    .unwrap_or_else(|(passage, outcome)| self.refused(&passage, outcome, now));
            }
            Progress::Waits => match self.waiting.take() {
                Some(place) => return Reaction::Wait(Waiting { passage, place }),
                None => {
                    passage.undo();
                    count(&self.tally.overloaded);
                    let words = "too many messages wait for a guard";
                    let refusal = Refusal::answered(EdgeCode::RateLimited.as_str(), words);
                    let kind = passage.arrival.inbound().kind;
                    Outcome::of_refusal(ROUTE, refusal, kind)
                }
            },
            Progress::Refused(outcome) => outcome,
        };
        self.refused(&passage, outcome, now)
    }

    /// When the first of the pending requests is over, by the measured clock.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        self.pending.next_deadline()
    }

    /// Puts other rules in force, from the next message on. Marks against replays, and where its limits
    /// are the same the buckets of the rate limit, stay; counters go on.
    ///
    /// # Errors
    /// [`RulesError`] where they make no sense: those in force stay.
    pub fn reload(&self, rules: EdgeRules) -> Result<(), RulesError> {
        self.shelf.replace(rules)
    }

    /// Frees what guards no longer need, and tells how many entries that were. To be called every few
    /// seconds.
    pub fn reclaim(&self, now: Now) -> usize {
        self.shelf.guards().reclaim(now)
    }

    /// Every decision from now on, with how each guard came to it. While nobody asks for them none is
    /// written down. A reader that is more than 1,024 behind is told how many it missed.
    #[must_use]
    pub fn decisions(&self) -> Decisions {
        Decisions::new(self.decisions.subscribe())
    }

    /// What each guard has counted since the beginning, reloads included.
    #[must_use]
    pub fn guards(&self) -> ChainCounters {
        self.shelf.counters()
    }

    /// What else was counted.
    #[must_use]
    pub fn counters(&self) -> EdgeCounters {
        self.tally.read()
    }

    /// Requests that wait for a component's reply.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.waiting()
    }

    /// Requests in the limits, those included whose answer is being sent, and of how many realms.
    #[must_use]
    pub fn under_way(&self) -> (usize, usize) {
        self.pending.taken()
    }

    /// Messages that wait for an [`AsyncGuard`](super::AsyncGuard).
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.taken()
    }

    /// The realm that it stands for.
    #[must_use]
    pub fn realm(&self) -> &RealmName {
        &self.realm
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> &EdgeLimits {
        &self.limits
    }

    pub(super) fn reply_id(&self) -> ReplyId {
        self.random.reply_id()
    }

    /// The end of a message that is not let in: dropped, or answered in its own profile.
    pub(super) fn refused<'a>(
        &self,
        passage: &Passage<'_>,
        outcome: Outcome,
        now: Now,
    ) -> Reaction<'a> {
        self.decided(passage, &outcome, now);
        let Outcome::Nack { guard, code, message } = outcome else {
            self.missed(&passage.arrival, &outcome);
            return self.dropped(outcome);
        };
        match self.nack(&passage.arrival, code, &message, now) {
            Some(answer) => {
                count(&self.tally.nacked);
                Reaction::Answer(answer)
            }
            // Nobody can be told.
            None => self.dropped(Outcome::Drop { guard, reason: message }),
        }
    }

    /// An event that is not let in is missing to who watches it here; one that is refused as a copy may be.
    fn missed(&self, arrival: &Arrival<'_>, outcome: &Outcome) {
        if let (Some(questions), Outcome::Drop { guard, .. }) = (&self.questions, outcome)
            && let Some(event) = arrival.envelope().filter(|event| event.kind == MsgType::Evt)
        {
            questions.sinks().missed(event.to.path.as_str(), u64::from(*guard == "rate"));
        }
    }

    fn dropped<'a>(&self, outcome: Outcome) -> Reaction<'a> {
        count(&self.tally.dropped);
        Reaction::Drop(match outcome {
            Outcome::Drop { guard, reason } => Dropped { guard, reason },
            Outcome::Nack { guard, message, .. } => Dropped { guard, reason: message },
            Outcome::Pass => Dropped { guard: ROUTE, reason: "nothing to do".into() },
        })
    }

    /// Tells who asked for decisions.
    pub(super) fn decided(&self, passage: &Passage<'_>, outcome: &Outcome, now: Now) {
        if let Some(trace) = &passage.trace {
            let arrival = &passage.arrival;
            let bytes = arrival.bytes().len();
            self.tell(arrival.mailbox(), Some(arrival), bytes, outcome, Some(trace), now);
        }
    }

    fn tell(
        &self,
        mailbox: MailboxKind,
        arrival: Option<&Arrival<'_>>,
        bytes: usize,
        outcome: &Outcome,
        trace: Option<&mesh_core::guard::Trace>,
        now: Now,
    ) {
        if self.decisions.receiver_count() == 0 {
            return;
        }
        // Whoever asked may have gone meanwhile.
        let _ = self.decisions.send(Arc::new(Decided {
            at: now.wall,
            mailbox,
            what: arrival.map(Message::of),
            bytes,
            outcome: outcome.clone(),
            trace: trace.cloned().unwrap_or_default(),
        }));
    }
}

/// What a decision names as its guard for what comes after the guards.
pub(super) const ROUTE: &str = "route";
