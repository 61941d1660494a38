//! What of a reading changes: its place, what it has handed on, what it holds back.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use futures_util::FutureExt;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicNackOptions, BasicRejectOptions};
use lapin::{Channel, Consumer};
use mesh_core::port::{ReceiveError, TransportError};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

/// Where it reads and settles: a channel of one session.
pub(super) struct Seat {
    pub(super) number: u64,
    pub(super) channel: Channel,
}

/// A delivery that somebody has in hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    /// The seat that it came to, the only one where it can be settled.
    pub(super) seat: u64,
    pub(super) tag: u64,
    pub(super) since: Instant,
}

/// A delivery that is given back later.
#[derive(Debug, Clone, Copy)]
struct Held {
    claim: Claim,
    until: Instant,
}

/// What becomes of a delivery on the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Say {
    /// It is done with.
    Ack,
    /// It comes again.
    Back,
    /// It never comes again, and is a dead letter where its queue has that.
    Never,
}

#[derive(Default)]
pub(super) struct State {
    seat: Option<Seat>,
    seats: u64,
    sources: Vec<Consumer>,
    next_source: usize,
    /// The broker has stopped delivering to this seat.
    pub(super) ended: bool,
    pub(super) claims: FxHashMap<u64, Claim>,
    next_claim: u64,
    held: Vec<Held>,
    /// Verdicts that were said on this seat and not proven since, and those that were lost with another.
    unproven: u64,
    undone: u64,
    /// The last delivery of this seat.
    pub(super) newest: u64,
    /// Its queue is known to count no deliveries.
    pub(super) uncounted: bool,
    pub(super) words: VecDeque<ReceiveError>,
    pub(super) end: Option<Option<TransportError>>,
    pub(super) over: bool,
    pub(super) waker: Option<Waker>,
}

impl State {
    /// Takes a place, in the stead of any that it had.
    pub(super) fn sit(&mut self, channel: Channel, sources: Vec<Consumer>) {
        drop(self.stand_up());
        self.seats += 1;
        self.seat = Some(Seat { number: self.seats, channel });
        (self.sources, self.next_source) = (sources, 0);
    }

    /// Gives its place up. What came there can't be settled any more, and comes again.
    pub(super) fn stand_up(&mut self) -> Option<Seat> {
        self.undone += std::mem::take(&mut self.unproven);
        self.held.clear();
        self.sources.clear();
        (self.ended, self.newest) = (false, 0);
        self.seat.take()
    }

    pub(super) fn channel(&self) -> Option<Channel> {
        self.seat.as_ref().map(|seat| seat.channel.clone())
    }

    /// Takes the consumers, so that nothing more is handed on.
    pub(super) fn take_sources(&mut self) -> Vec<Consumer> {
        std::mem::take(&mut self.sources)
    }

    /// What the broker has sent, from each queue in its turn.
    pub(super) fn arrived(&mut self, context: &mut Context<'_>) -> Poll<Delivery> {
        for turn in 0..self.sources.len() {
            let index = (self.next_source + turn) % self.sources.len();
            match Pin::new(&mut self.sources[index]).poll_next(context) {
                Poll::Ready(Some(Ok(delivery))) => {
                    self.next_source = index + 1;
                    return Poll::Ready(delivery);
                }
                Poll::Ready(Some(Err(_)) | None) => {
                    self.ended = true;
                    return Poll::Pending;
                }
                Poll::Pending => {}
            }
        }
        Poll::Pending
    }

    /// A claim on what came to the seat that it has.
    pub(super) fn claim(&self, tag: u64) -> Claim {
        Claim { seat: self.seats, tag, since: Instant::now() }
    }

    /// Notes that it was handed on; the number under which it is settled.
    pub(super) fn hand_on(&mut self, claim: Claim) -> u64 {
        let number = self.next_claim;
        self.next_claim += 1;
        self.claims.insert(number, claim);
        number
    }

    /// Keeps it for a while, and then gives it back.
    pub(super) fn hold(&mut self, claim: Claim, until: Instant) {
        self.held.push(Held { claim, until });
    }

    /// When the next of those is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.held.iter().map(|held| held.until).min()
    }

    /// Gives those back that are due by `now`.
    pub(super) fn give_back_due(&mut self, now: Instant) {
        let (due, held) =
            std::mem::take(&mut self.held).into_iter().partition(|held| held.until <= now);
        self.held = held;
        let due: Vec<Held> = due;
        for held in due {
            self.say(held.claim, Say::Back);
        }
    }

    /// Gives all of those back.
    pub(super) fn give_back_held(&mut self) {
        for held in std::mem::take(&mut self.held) {
            self.say(held.claim, Say::Back);
        }
    }

    /// Whether the seat that it came to stands.
    pub(super) fn may_settle(&self, claim: Claim) -> bool {
        let seat = self.seat.as_ref().filter(|seat| seat.number == claim.seat);
        seat.is_some_and(|seat| seat.channel.status().connected())
    }

    /// Hands a verdict to the client, behind all that it was handed before; whether it took it.
    pub(super) fn say(&mut self, claim: Claim, say: Say) -> bool {
        let Some(seat) = self.seat.as_ref().filter(|seat| seat.number == claim.seat) else {
            return false;
        };
        let (channel, tag) = (&seat.channel, claim.tag);
        // The frame stands in the client's queue after the first look; who waits for it to be written
        // waits for the network, once for each.
        let said = match say {
            Say::Ack => channel.basic_ack(tag, BasicAckOptions::default()).now_or_never(),
            Say::Back => {
                let options = BasicNackOptions { requeue: true, ..BasicNackOptions::default() };
                channel.basic_nack(tag, options).now_or_never()
            }
            Say::Never => {
                channel.basic_reject(tag, BasicRejectOptions { requeue: false }).now_or_never()
            }
        };
        let taken = !matches!(said, Some(Err(_)));
        // What is given back comes again, however it goes.
        if taken && say != Say::Back {
            self.unproven += 1;
        }
        taken
    }

    /// How many verdicts were said to the broker, for [`proven`](Self::proven).
    pub(super) fn said(&self) -> u64 {
        self.unproven
    }

    /// The broker has this many of the verdicts that were said.
    pub(super) fn proven(&mut self, said: u64) {
        self.unproven = self.unproven.saturating_sub(said);
    }

    /// How many were lost with their seat since this was last asked.
    pub(super) fn take_undone(&mut self) -> u64 {
        std::mem::take(&mut self.undone)
    }

    /// How many may not have reached the broker.
    pub(super) fn in_doubt(&self) -> u64 {
        self.unproven + self.undone
    }

    /// Whether nothing of it is left to be settled.
    pub(super) fn is_settled(&self) -> bool {
        self.claims.is_empty() && self.held.is_empty()
    }
}
