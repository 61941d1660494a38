//! What of a reading changes: its place, what it has handed on, what it holds back.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use futures_util::FutureExt;
use lapin::message::Delivery;
use lapin::options::{BasicNackOptions, BasicRejectOptions};
use lapin::{Channel, Consumer};
use mesh_core::port::{ReceiveError, TransportError};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use super::acks::Acks;
use super::doubt::Doubt;

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
    /// All that comes on its channel comes from one queue, and so in the order of the tags.
    ordered: bool,
    next_source: usize,
    /// The broker has stopped delivering to this seat.
    pub(super) ended: bool,
    pub(super) claims: FxHashMap<u64, Claim>,
    next_claim: u64,
    held: Vec<Held>,
    acks: Acks,
    /// Of verdicts that were said.
    pub(super) doubt: Doubt,
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
        self.ordered = sources.len() == 1;
        (self.sources, self.next_source) = (sources, 0);
    }

    /// Gives its place up. What came there can't be settled any more, and comes again.
    pub(super) fn stand_up(&mut self) -> Option<Seat> {
        self.send_acks();
        self.acks.forget();
        self.doubt.lose();
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
    pub(super) fn claim(&mut self, tag: u64) -> Claim {
        self.acks.came(tag);
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

    /// When the next of those is due, or acknowledgements are to be looked at.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.held.iter().map(|held| held.until).chain(self.acks.look()).min()
    }

    /// Says what is due by `now`.
    pub(super) fn say_due(&mut self, now: Instant) {
        if self.acks.looked(now) {
            self.send_acks();
        }
        if self.held.is_empty() {
            return;
        }
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

    /// Acknowledges, together with others that come soon; whether the channel stands that it came on. The
    /// keeper is to be told where the second answer is so.
    pub(super) fn ack(&mut self, claim: Claim, in_flight: usize) -> (bool, bool) {
        if !self.may_settle(claim) {
            return (false, false);
        }
        self.doubt.say();
        let tell = self.acks.push(claim.tag);
        if self.acks.are_many(in_flight) {
            self.send_acks();
            if tell {
                self.acks.untold();
            }
            return (true, false);
        }
        (true, tell)
    }

    /// Hands the acknowledgements that wait to the client.
    pub(super) fn send_acks(&mut self) {
        if self.acks.is_empty() {
            return;
        }
        if let Some(seat) = &self.seat {
            self.acks.send(&seat.channel, self.ordered);
        }
    }

    /// Hands a verdict to the client, behind all that it was handed before; whether it took it.
    pub(super) fn say(&mut self, claim: Claim, say: Say) -> bool {
        if say == Say::Ack {
            return self.ack(claim, 0).0;
        }
        self.send_acks();
        let Some(seat) = self.seat.as_ref().filter(|seat| seat.number == claim.seat) else {
            return false;
        };
        let (channel, tag) = (&seat.channel, claim.tag);
        self.acks.refused(tag);
        // As with acknowledgements, nobody waits for it to be written.
        let said = match say {
            Say::Never => {
                channel.basic_reject(tag, BasicRejectOptions { requeue: false }).now_or_never()
            }
            Say::Back | Say::Ack => {
                let options = BasicNackOptions { requeue: true, ..BasicNackOptions::default() };
                channel.basic_nack(tag, options).now_or_never()
            }
        };
        let taken = !matches!(said, Some(Err(_)));
        // What is given back comes again, however it goes.
        if taken && say != Say::Back {
            self.doubt.say();
        }
        taken
    }

    /// Whether nothing of it is left to be settled.
    pub(super) fn is_settled(&self) -> bool {
        self.claims.is_empty() && self.held.is_empty()
    }
}
