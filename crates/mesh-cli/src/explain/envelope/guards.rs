//! Which guard of a realm would refuse a message: the core's own chain decides.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::guard::{
    Decision, EdgeGuards, Finding, GuardChain, HashSecret, Inbound, Now, Outcome, PrefixDeny,
};
use mesh_core::mx::{DecodeError, Envelope, LegacyReply, Profile, principal_key};
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;
use serde::Serialize;

use super::capture::Capture;
use super::federation::Expiry;
use super::{Explained, moment};

/// When messages arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    Now,
    /// Each when it says that it was sent, and none before those in front of it.
    Sent,
    At(Timestamp),
}

impl FromStr for Arrival {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let millis = || text.parse().ok().and_then(moment);
        match text {
            "now" => Ok(Self::Now),
            "sent" => Ok(Self::Sent),
            _ => millis().map_or_else(
                || {
                    text.parse().map(Self::At).map_err(|error| {
                        format!("{error}; `now`, `sent`, or a moment such as 2026-03-01T12:00:00Z")
                    })
                },
                |at| Ok(Self::At(at)),
            ),
        }
    }
}

/// The edge of a realm, if one is given, and its clocks.
pub(super) struct Edge {
    gate: Option<(RealmName, GuardChain)>,
    arrival: Arrival,
    /// The latest moment so far, and when the first message came.
    now: Timestamp,
    first: Option<Timestamp>,
}

/// What a realm's guards would do.
#[derive(Debug, Serialize)]
pub(crate) struct Judged {
    realm: String,
    /// When it would arrive, RFC 3339.
    at: String,
    outcome: Ended,
    /// Who refuses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    guard: Option<&'static str>,
    /// The code of the answer, where the sender gets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What each guard found or did, in order.
    steps: Vec<Step>,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Ended {
    /// It is routed.
    Pass,
    /// It is forgotten, and nobody told.
    Drop,
    /// It is forgotten, and the sender told.
    Nack,
}

#[derive(Debug, Serialize)]
pub(super) struct Step {
    pub(super) guard: &'static str,
    pub(super) finding: &'static str,
}

impl Edge {
    pub(super) fn new(
        gate: Option<(RealmName, GuardChain)>,
        arrival: Arrival,
        now: Timestamp,
    ) -> Self {
        Self { gate, arrival, now, first: None }
    }

    pub(super) fn realm(&self) -> Option<&RealmName> {
        self.gate.as_ref().map(|(realm, _)| realm)
    }

    pub(super) fn judge(
        &mut self,
        envelope: &Envelope<'_>,
        profile: Profile,
        capture: &Capture<'_>,
        explained: &mut Explained,
    ) {
        let key = envelope.principal.as_ref().and_then(principal_key);
        let inbound = Inbound::of(envelope, profile, key.as_deref(), capture.body.len());
        self.judge_inbound(&inbound, explained);
    }

    pub(super) fn judge_reply(
        &mut self,
        reply: &LegacyReply<'_>,
        capture: &Capture<'_>,
        explained: &mut Explained,
    ) {
        self.judge_inbound(&Inbound::of_reply(reply, capture.body.len()), explained);
    }

    /// Of what is no envelope.
    pub(super) fn judge_undecodable(&mut self, error: &DecodeError, explained: &mut Explained) {
        let now = self.at(None);
        if let Some((realm, chain)) = &self.gate {
            let judged = Judged::of(realm, now, chain.undecodable(error));
            explained.guards = Some(judged);
        }
    }

    fn judge_inbound(&mut self, inbound: &Inbound<'_>, explained: &mut Explained) {
        let now = self.at(inbound.timestamp);
        explained.expiry = Expiry::of(inbound, now);
        if let Some((realm, chain)) = &self.gate {
            let judged = Judged::of(realm, now, chain.check_traced(inbound, now));
            explained.good &= judged.outcome == Ended::Pass;
            explained.guards = Some(judged);
        }
    }

    /// When a message arrives that says it was sent then.
    fn at(&mut self, sent: Option<Timestamp>) -> Now {
        self.now = match (self.arrival, sent, self.first) {
            (Arrival::At(at), ..) => at,
            (Arrival::Sent, Some(sent), None) => sent,
            (Arrival::Sent, Some(sent), Some(_)) => sent.max(self.now),
            (Arrival::Sent, None, _) | (Arrival::Now, ..) => self.now,
        };
        if sent.is_some() || self.arrival != Arrival::Sent {
            self.first.get_or_insert(self.now);
        }
        let monotonic = self.first.map_or(Duration::ZERO, |first| self.now.saturating_since(first));
        Now { wall: self.now, monotonic }
    }
}

/// The standard guards of a realm, with a policy against these paths.
pub(super) fn standard(realm: &RealmName, denied: &[String]) -> (RealmName, GuardChain) {
    // Nobody outside chooses what is in a capture that one explains oneself.
    let mut guards = EdgeGuards::new(realm.clone(), HashSecret::new([0; 16]));
    if !denied.is_empty() {
        guards.policy = Some(Arc::new(PrefixDeny::new(denied)));
    }
    (realm.clone(), GuardChain::standard(guards).build())
}

impl Judged {
    fn of(realm: &RealmName, now: Now, decision: Decision) -> Self {
        let steps = decision.trace.as_ref().map(|trace| trace.steps()).unwrap_or_default();
        let steps = steps.iter().map(|step| Step {
            guard: step.guard,
            finding: match &step.finding {
                Finding::Passed => "passed",
                Finding::Reserved => "passed, and marked as seen",
                Finding::Refused(_) => "refused",
                Finding::Released => "forgot the mark",
                _ => "looked",
            },
        });
        let steps = steps.collect();
        let (outcome, guard, code, reason) = match decision.outcome {
            Outcome::Pass => (Ended::Pass, None, None, None),
            Outcome::Drop { guard, reason } => (Ended::Drop, Some(guard), None, Some(reason)),
            Outcome::Nack { guard, code, message } => {
                (Ended::Nack, Some(guard), Some(code), Some(message))
            }
        };
        Self {
            realm: realm.as_str().to_owned(),
            at: now.wall.to_string(),
            outcome,
            guard,
            code,
            reason: reason.map(Into::into),
            steps,
        }
    }

    /// Who refuses it, if one does.
    pub(super) fn refused_by(&self) -> Option<&'static str> {
        self.guard
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Who refuses it, and why.
    pub(super) fn refusal(&self) -> String {
        let reason = self.reason.as_deref().unwrap_or_default();
        format!("refused by {}: {reason}", self.guard.unwrap_or_default())
    }

    pub(super) fn words(&self) -> String {
        let Self { realm, at, .. } = self;
        let reason = self.reason.as_deref().unwrap_or_default();
        let guard = self.guard.unwrap_or_default();
        match (self.outcome, self.code) {
            (Ended::Pass, _) => format!("arriving at {at}, {realm} takes it"),
            (Ended::Nack, Some(code)) => format!(
                "arriving at {at}, it is refused by {guard} ({reason}), and the sender gets {code}"
            ),
            _ => {
                format!("arriving at {at}, it is dropped by {guard} ({reason}), and nobody is told")
            }
        }
    }
}
