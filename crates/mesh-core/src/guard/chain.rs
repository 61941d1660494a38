use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use super::{
    ChainBuilder, ChainCounters, Decision, EdgeGuards, Finding, Guard, GuardCounters, Inbound,
    Mode, Now, Outcome, Reservation, Step, Trace, Verdict,
};
use crate::mx::DecodeError;

/// The guards of a gateway, in the order of protocol §8. `Send + Sync`: one chain serves any
/// number of tasks at once.
///
/// ```
/// use std::time::Duration;
/// use mesh_core::guard::{EdgeGuards, GuardChain, HashSecret, Inbound, Now};
/// use mesh_core::mx::MsgType;
/// use mesh_core::name::RealmName;
/// use mesh_core::time::Timestamp;
///
/// let secret = HashSecret::new([7; 16]); // 16 random bytes in earnest
/// let chain = GuardChain::standard(EdgeGuards::new(RealmName::new("acme.com")?, secret)).build();
///
/// let mut inbound = Inbound::new(MsgType::Cmd);
/// inbound.from_realm = Some("partner.org");
/// inbound.to_realm = Some("acme.com");
/// inbound.msg_id = Some("m-1");
/// let now = Now { wall: Timestamp::from_millis(0), monotonic: Duration::ZERO };
/// assert_eq!(chain.check(&inbound, now).outcome.to_string(), "pass");
/// assert_eq!(
///     chain.check(&inbound, now).outcome.to_string(),
///     "drop by replay: seen before",
/// );
/// # Ok::<(), mesh_core::name::NameError>(())
/// ```
#[derive(Debug)]
pub struct GuardChain {
    links: Box<[Link]>,
    checked: AtomicU64,
    undecodable: AtomicU64,
}

/// A guard in its place.
#[derive(Debug)]
struct Link {
    guard: Box<dyn Guard>,
    mode: Mode,
    refused: AtomicU64,
    shadow_refused: AtomicU64,
}

/// What a decision names as its guard where an arrival is no envelope.
const DECODE: &str = "decode";

/// What the guards of a chain have reserved for one message that passed it
/// ([`GuardChain::admit`]). Dropped where the message was handled, and handed to
/// [`GuardChain::release`] where it was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held(SmallVec<[(usize, Reservation); 4]>); // inline for four guards that reserve

impl Held {
    /// Whether there is nothing to release.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl GuardChain {
    /// An empty chain to put guards into, in any order.
    pub fn builder() -> ChainBuilder {
        ChainBuilder::default()
    }

    /// The guards of protocol §8, to which more can be added.
    pub fn standard(guards: EdgeGuards) -> ChainBuilder {
        guards.into_builder()
    }

    pub(super) fn new(guards: impl IntoIterator<Item = (Mode, Box<dyn Guard>)>) -> Self {
        Self {
            links: guards
                .into_iter()
                .map(|(mode, guard)| Link {
                    guard,
                    mode,
                    refused: AtomicU64::new(0),
                    shadow_refused: AtomicU64::new(0),
                })
                .collect(),
            checked: AtomicU64::new(0),
            undecodable: AtomicU64::new(0),
        }
    }

    /// Decides about one message. What was reserved for a message that is refused is released
    /// before this returns.
    pub fn check(&self, inbound: &Inbound<'_>, now: Now) -> Decision {
        Decision { outcome: self.admit(inbound, now).0, trace: None }
    }

    /// As [`check`](Self::check), and tells how each guard came to it.
    pub fn check_traced(&self, inbound: &Inbound<'_>, now: Now) -> Decision {
        let mut trace = Trace(Vec::with_capacity(self.links.len()));
        let (outcome, _) = self.admit_traced(inbound, now, &mut trace);
        Decision { outcome, trace: Some(trace) }
    }

    /// As [`check`](Self::check), for who may find out later that a message which passed is not
    /// handled after all: what was reserved for it comes back to be kept until then. It is empty
    /// unless the outcome is `Pass`.
    #[must_use]
    pub fn admit(&self, inbound: &Inbound<'_>, now: Now) -> (Outcome, Held) {
        self.run(inbound, now, |_, _| {})
    }

    /// As [`admit`](Self::admit), and appends the steps to `trace`.
    #[must_use]
    pub fn admit_traced(
        &self,
        inbound: &Inbound<'_>,
        now: Now,
        trace: &mut Trace,
    ) -> (Outcome, Held) {
        self.run(inbound, now, |link, finding| trace.push(link.step(finding())))
    }

    /// Forgets what was reserved for `inbound`, the last first: it was not handled, and may come
    /// again. `held` must be what this very chain gave out for this very message.
    pub fn release(&self, inbound: &Inbound<'_>, held: Held) {
        self.undo(inbound, held, |_| {});
    }

    /// As [`release`](Self::release), and appends the steps to `trace`.
    pub fn release_traced(&self, inbound: &Inbound<'_>, held: Held, trace: &mut Trace) {
        self.undo(inbound, held, |link| trace.push(link.step(Finding::Released)));
    }

    fn undo(&self, inbound: &Inbound<'_>, held: Held, mut trace: impl FnMut(&Link)) {
        for (holder, reservation) in held.0.into_iter().rev() {
            if let Some(link) = self.links.get(holder) {
                link.guard.release(inbound, reservation);
                trace(link);
            }
        }
    }

    /// Counts an arrival that is no envelope, and decides about it: decoding is the first guard of
    /// protocol §8, before any that needs an [`Inbound`]. It is dropped, since nobody is known who could
    /// be answered; the reason is the error's, which holds no text from outside.
    pub fn undecodable(&self, error: &DecodeError) -> Decision {
        self.undecodable.fetch_add(1, Ordering::Relaxed);
        let reason = error.to_string().into();
        Decision { outcome: Outcome::Drop { guard: DECODE, reason }, trace: None }
    }

    /// Frees what the guards no longer need, and tells how many entries that were. Call it from a
    /// timer, every few seconds: memory then shrinks without new traffic.
    pub fn reclaim(&self, now: Now) -> usize {
        self.links.iter().map(|link| link.guard.reclaim(now)).sum()
    }

    /// What every guard has counted so far.
    #[must_use]
    pub fn counters(&self) -> ChainCounters {
        // Refusals are read before the total, so that no message is counted as refused only.
        let refusals: Vec<(u64, u64)> = self
            .links
            .iter()
            .map(|link| {
                (link.refused.load(Ordering::Acquire), link.shadow_refused.load(Ordering::Acquire))
            })
            .collect();
        let checked = self.checked.load(Ordering::Acquire);
        let mut reached = checked;
        let guards = self
            .links
            .iter()
            .zip(refusals)
            .map(|(link, (refused, shadow_refused))| {
                let counters = GuardCounters {
                    guard: link.guard.name(),
                    stage: link.guard.stage(),
                    mode: link.mode,
                    passed: reached.saturating_sub(refused + shadow_refused),
                    refused,
                    shadow_refused,
                    figures: link.guard.figures(),
                };
                reached = reached.saturating_sub(refused);
                counters
            })
            .collect();
        let undecodable = self.undecodable.load(Ordering::Relaxed);
        ChainCounters { checked, undecodable, guards }
    }

    fn run(
        &self,
        inbound: &Inbound<'_>,
        now: Now,
        mut trace: impl FnMut(&Link, &dyn Fn() -> Finding),
    ) -> (Outcome, Held) {
        self.checked.fetch_add(1, Ordering::Relaxed);
        let mut held = Held::default();
        for (position, link) in self.links.iter().enumerate() {
            match link.guard.check(inbound, now) {
                Verdict::Pass => trace(link, &|| Finding::Passed),
                Verdict::Reserved(reservation) => {
                    held.0.push((position, reservation));
                    trace(link, &|| Finding::Reserved);
                }
                Verdict::Refuse(refusal) => {
                    trace(link, &|| Finding::Refused(refusal.clone()));
                    if link.mode == Mode::Shadow {
                        link.shadow_refused.fetch_add(1, Ordering::Release);
                        continue;
                    }
                    link.refused.fetch_add(1, Ordering::Release);
                    self.undo(inbound, held, |holder| trace(holder, &|| Finding::Released));
                    let outcome = Outcome::of_refusal(link.guard.name(), refusal, inbound.kind);
                    return (outcome, Held::default());
                }
            }
        }
        (Outcome::Pass, held)
    }
}

impl Link {
    fn step(&self, finding: Finding) -> Step {
        Step { guard: self.guard.name(), mode: self.mode, finding }
    }
}
