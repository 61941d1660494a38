use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::port::{
    Delivery, DeliveryInfo, ErrorKind, Operation, ReceiveError, RefusalReason, Settlement,
    TransportError, Verdict,
};
use tokio::runtime;
use tokio::task::coop;

use super::next::Found;
use super::{Seat, Stream, Ticket};
use crate::link::Link;
use crate::live::End;

/// A reader of a durable consumer: it takes a message when it is asked for one, so nothing waits
/// claimed in a buffer.
#[derive(Debug)]
pub(crate) struct Reading {
    place: Place,
    over: bool,
    /// The runtime that it last waited on.
    waits_on: Option<runtime::Id>,
}

/// Who reads what, and on whose connection.
#[derive(Debug, Clone)]
struct Place {
    link: Arc<Link>,
    stream: Arc<Stream>,
    seat: Arc<Seat>,
}

impl Place {
    fn now(&self) -> Duration {
        self.link.broker.clock.monotonic()
    }

    fn check(&self, operation: Operation) -> Result<(), TransportError> {
        self.link.check_open(operation)?;
        // Whoever loses the right loses the seat as well, so a reader in its seat is not asked again.
        match self.seat.over() {
            None => Ok(()),
            Some(_) => self.link.access.settle(&self.seat.consumer, operation),
        }
    }
}

impl Reading {
    pub(crate) fn new(link: Arc<Link>, stream: Arc<Stream>, seat: Arc<Seat>) -> Self {
        Self { place: Place { link, stream, seat }, over: false, waits_on: None }
    }

    fn ended(&mut self) -> Option<Result<Delivery, ReceiveError>> {
        self.over = true;
        match self.place.seat.over() {
            Some(End::Closed) => None,
            Some(End::Because(error)) => Some(Err(ReceiveError::Ended(error.clone()))),
            None => {
                let gone = TransportError::new(ErrorKind::NotFound, Operation::Consume)
                    .about(self.place.seat.consumer.to_string())
                    .detail("the consumer was retired");
                Some(Err(ReceiveError::Ended(gone)))
            }
        }
    }
}

impl futures_core::Stream for Reading {
    type Item = Result<Delivery, ReceiveError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(None);
        }
        let budget = ready!(coop::poll_proceed(context));
        let place = &this.place;
        let (found, effects) = place.stream.next(&place.seat, place.now(), context.waker());
        place.link.broker.run(effects);
        let arrival = match found {
            Found::Nothing => {
                this.waits_on = place.link.broker.wait_here(this.waits_on);
                return Poll::Pending;
            }
            Found::Gone => this.ended(),
            Found::Refused(subject) => Some(Err(ReceiveError::Refused {
                subject,
                reason: RefusalReason::UnexpectedSubject,
            })),
            Found::Message(ticket) => {
                let info = DeliveryInfo {
                    attempt: ticket.deliveries,
                    max_attempts: ticket.rules.max_deliver,
                    ack_wait: Some(ticket.rules.ack_wait),
                    sequence: Some(ticket.sequence),
                };
                let message = ticket.message.clone();
                let held = Box::new(HeldDelivery { place: place.clone(), ticket });
                Some(Ok(Delivery::new(message, info, held)))
            }
        };
        budget.made_progress();
        Poll::Ready(arrival)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let Place { link, stream, seat } = &self.place;
        seat.end(End::Closed);
        let (holds, effects) = stream.stand_up(seat);
        link.broker.run(effects);
        if !holds {
            link.detach_reader(seat.id);
        }
    }
}

/// A delivery in its reader's hands.
struct HeldDelivery {
    place: Place,
    ticket: Ticket,
}

impl HeldDelivery {
    fn give(self, verdict: Verdict) {
        let Place { link, stream, seat } = &self.place;
        let effects = stream.settle(seat, &self.ticket, verdict, self.place.now());
        link.broker.run(effects);
        if seat.over().is_some() && !stream.holds(seat) {
            // The last that came to a reader which is gone: the connection need not know it any more.
            link.detach_reader(seat.id);
        }
    }
}

#[async_trait]
impl Settlement for HeldDelivery {
    async fn settle(self: Box<Self>, verdict: Verdict) -> Result<(), TransportError> {
        // A connection that is over, or has lost its right, has given everything back already.
        self.place.check(Operation::Settle)?;
        self.give(verdict);
        Ok(())
    }

    async fn progress(&self) -> Result<(), TransportError> {
        let Place { link, stream, seat } = &self.place;
        self.place.check(Operation::Progress)?;
        let effects = stream.progress(seat, &self.ticket, self.place.now());
        link.broker.run(effects);
        Ok(())
    }

    fn release(self: Box<Self>) {
        self.give(Verdict::Nak { delay: None });
    }
}
