use std::time::Duration;

use mesh_core::dead_letter::DeadReason;
use mesh_core::message::Message;
use mesh_core::port::Reason;
use mesh_core::topology::ConsumerRules;

use super::seat::SeatId;

/// A message that was delivered and is not settled.
#[derive(Debug, Default)]
pub(super) struct Claim {
    pub(super) deliveries: u32,
    pub(super) state: ClaimState,
}

#[derive(Debug, Default)]
pub(super) enum ClaimState {
    /// It may be delivered.
    #[default]
    Ready,
    /// It is in the hands of a reader, or of whoever got it there, until then. What the reader refused
    /// is not handed on.
    Held { seat: SeatId, ticket: u64, until: Duration, handed_on: bool },
    /// It is not to be delivered before then.
    Delayed { until: Duration },
    /// It is on its way to the dead letters; if that failed, it is tried again then.
    GivenUp { reason: DeadReason, error: Option<Reason>, retry: Option<Duration> },
}

/// One delivery of a message.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// Which consumer of its name: it may have been retired and made again.
    pub(crate) instance: u64,
    /// Tells this delivery from earlier and later ones.
    pub(crate) number: u64,
    pub(crate) sequence: u64,
    pub(crate) deliveries: u32,
    pub(crate) rules: ConsumerRules,
    pub(crate) message: Message,
}

impl Claim {
    pub(super) fn is_held_by(&self, number: u64) -> bool {
        matches!(&self.state, ClaimState::Held { ticket, .. } if *ticket == number)
    }

    pub(super) fn seat(&self) -> Option<SeatId> {
        match &self.state {
            ClaimState::Held { seat, .. } => Some(*seat),
            _ => None,
        }
    }

    pub(super) fn is_handed_on(&self) -> bool {
        matches!(&self.state, ClaimState::Held { handed_on: true, .. })
    }

    /// When something is to be done about it.
    pub(super) fn until(&self) -> Option<Duration> {
        match &self.state {
            ClaimState::Ready => None,
            ClaimState::Held { until, .. } | ClaimState::Delayed { until } => Some(*until),
            ClaimState::GivenUp { retry, .. } => *retry,
        }
    }

    /// Begins the claim of this delivery anew.
    pub(super) fn extend(&mut self, number: u64, later: Duration) {
        if let ClaimState::Held { ticket, until, .. } = &mut self.state
            && *ticket == number
        {
            *until = later;
        }
    }
}
