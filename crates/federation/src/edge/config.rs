use std::sync::Arc;
use std::time::Duration;

use mesh_core::guard::{Guard, Mode, Policy, RateLimits, ReplayLimits, Stage};
use mesh_core::mx::DEFAULT_MAX_BYTES;
use mesh_core::name::RealmName;

use super::AsyncGuard;

/// What an [`Edge`](super::Edge) is made from.
#[derive(Debug)]
#[non_exhaustive]
pub struct EdgeConfig {
    /// The realm that it stands for.
    pub realm: RealmName,
    /// What is refused. Can be replaced while it runs.
    pub rules: EdgeRules,
    /// How much is remembered against replays. Stays as it is: marks survive a change of the rules.
    pub replay: ReplayLimits,
    /// How much may be under way.
    pub limits: EdgeLimits,
    /// How long a component has for its reply. 5 s unless told (protocol §8).
    pub timeout: Duration,
    /// Whether a component also gets the whole envelope, as `envelope`. Not unless told.
    pub include_envelope: bool,
}

/// What a gateway refuses; [`Edge::reload`](super::Edge::reload) replaces it without a restart.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct EdgeRules {
    /// How far the senders' clocks may be behind. None unless told.
    pub leeway: Duration,
    /// How much may come in. Where a reload changes it, all buckets begin full.
    pub rate: RateLimits,
    /// What is allowed. All is, unless told.
    pub policy: Option<Arc<dyn Policy>>,
    /// Guards of one's own, each after the standard guard of its stage.
    pub guards: Vec<(Mode, Arc<dyn Guard>)>,
    /// Guards that have to wait, each after all others of its stage.
    pub waiting: Vec<(Mode, Arc<dyn AsyncGuard>)>,
    /// The stages whose standard guards only count. `Addressed` and `Relay` can't be among them:
    /// without them the gateway would speak for other realms, or to them.
    pub shadow: Vec<Stage>,
}

/// How much a gateway has under way at a time. Over each limit a request is answered
/// `MX.EDGE.RATE_LIMITED`, and may come again with the same `msgId`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EdgeLimits {
    /// Requests that wait for a component's reply, or whose answer is being sent. 8,192 unless told.
    pub pending: usize,
    /// Those of one realm. 1,024 unless told. Realms are claims, so this keeps an honest realm from
    /// taking all places, and no attacker: that needs a proof of the realm before it.
    pub pending_per_realm: usize,
    /// Messages that wait for an [`AsyncGuard`]. 1,024 unless told.
    pub max_waiting: usize,
    /// The most bytes of an envelope and of a component's reply. 1 MiB unless told.
    pub max_bytes: usize,
    /// The most bytes of an answer to another realm: what its backbone carries. 1 MiB unless told; a
    /// [`EdgeGateway`](super::EdgeGateway) lowers it to what its backbone says.
    pub max_answer_bytes: usize,
    /// The longest `msgId`, `correlationId` or `traceId` of a request, in bytes: they are held while a
    /// component works. 512 unless told.
    pub max_id_bytes: usize,
}

impl EdgeConfig {
    /// The gateway of `realm` with what the protocol says, and without a policy.
    #[must_use]
    pub fn new(realm: RealmName) -> Self {
        Self {
            realm,
            rules: EdgeRules::default(),
            replay: ReplayLimits::default(),
            limits: EdgeLimits::default(),
            timeout: Duration::from_secs(5),
            include_envelope: false,
        }
    }
}

impl EdgeRules {
    /// The policy, unless it is in shadow.
    #[must_use]
    pub fn enforced_policy(&self) -> Option<Arc<dyn Policy>> {
        self.policy.clone().filter(|_| !self.shadow.contains(&Stage::Policy))
    }

    /// The same with this policy.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// The same with one guard more.
    #[must_use]
    pub fn guard(mut self, mode: Mode, guard: impl Guard + 'static) -> Self {
        self.guards.push((mode, Arc::new(guard)));
        self
    }

    /// The same with one guard more that has to wait.
    #[must_use]
    pub fn waiting(mut self, mode: Mode, guard: impl AsyncGuard + 'static) -> Self {
        self.waiting.push((mode, Arc::new(guard)));
        self
    }

    /// The same with the standard guard of this stage in shadow.
    #[must_use]
    pub fn shadow(mut self, stage: Stage) -> Self {
        self.shadow.push(stage);
        self
    }
}

impl EdgeLimits {
    pub(super) fn check(&self) -> Result<(), RulesError> {
        let all = [
            ("pending", self.pending),
            ("pending_per_realm", self.pending_per_realm),
            ("max_waiting", self.max_waiting),
            ("max_bytes", self.max_bytes),
            ("max_answer_bytes", self.max_answer_bytes),
            ("max_id_bytes", self.max_id_bytes),
        ];
        match all.into_iter().find(|(_, limit)| *limit == 0) {
            Some((name, _)) => Err(RulesError::Zero(name)),
            None => Ok(()),
        }
    }
}

impl Default for EdgeLimits {
    fn default() -> Self {
        Self {
            pending: 8_192,
            pending_per_realm: 1_024,
            max_waiting: 1_024,
            max_bytes: DEFAULT_MAX_BYTES,
            max_answer_bytes: DEFAULT_MAX_BYTES,
            max_id_bytes: 512,
        }
    }
}

/// Why rules can't be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// A stage that can't be in shadow.
    #[error("the guard of stage {0:?} can't be in shadow")]
    NotInShadow(Stage),
    /// Two guards of one name: their counts could not be told apart.
    #[error("two guards are called {0:?}")]
    Twice(&'static str),
    /// A limit that would let nothing through.
    #[error("the limit {0} is zero")]
    Zero(&'static str),
}
