//! The task of a subscription: reads it in each session and fills the reader's queue.

use std::pin::pin;
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use lapin::message::Delivery;
use mesh_core::port::{ErrorKind, TransportError};
use mesh_core::time::Backoff;
use mesh_session::Session as _;
use tokio::sync::{oneshot, watch};
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

use super::{Admit, Place, Queue, Spot};
use crate::link::{Link, Stage, deadline, runtime_ended};
use crate::session::Session;

/// Asks a subscription to say when all has come that the broker had for it.
#[derive(Debug)]
pub(crate) struct Hearing {
    asked: watch::Sender<u64>,
    came: watch::Receiver<u64>,
}

/// The subscription's side of it.
pub(crate) struct Asked {
    asked: watch::Receiver<u64>,
    came: watch::Sender<u64>,
}

impl Hearing {
    pub(crate) fn new() -> (Arc<Self>, Asked) {
        let (asked, came) = (watch::Sender::new(0), watch::Sender::new(0));
        let (questions, answers) = (asked.subscribe(), came.subscribe());
        (Arc::new(Self { asked, came: answers }), Asked { asked: questions, came })
    }

    /// Returns when all has come that the broker had when this was called, or the subscription is over.
    pub(crate) async fn all_came(&self) {
        let mut number = 0;
        self.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        let mut came = self.came.clone();
        let _ = came.wait_for(|came| *came >= number).await;
    }
}

pub(super) struct Pump<T> {
    link: Arc<Link>,
    id: u64,
    place: Place,
    queue: Arc<Queue<T>>,
    admit: Admit<T>,
    gone: watch::Receiver<()>,
    hearing: Asked,
    /// How it ends, once it is dropped.
    end: Option<TransportError>,
}

/// A runtime that ends drops it too.
impl<T> Drop for Pump<T> {
    fn drop(&mut self) {
        self.link.line.gone(self.id);
        self.queue.end(self.end.take());
    }
}

/// Why a queue is not read any more.
enum Over {
    /// On purpose, here.
    Left,
    /// The session is over, or the broker stopped delivering.
    Lost,
}

impl<T: Send + 'static> Pump<T> {
    pub(super) fn new(
        link: &Arc<Link>,
        id: u64,
        place: Place,
        queue: &Arc<Queue<T>>,
        admit: Admit<T>,
        gone: watch::Receiver<()>,
        hearing: Asked,
    ) -> Self {
        let end = Some(runtime_ended(place.operation));
        let (link, queue) = (Arc::clone(link), Arc::clone(queue));
        Self { link, id, place, queue, admit, gone, hearing, end }
    }

    /// Takes the place, says so, and stays there until the reader or the connection is gone.
    pub(super) async fn run(
        mut self,
        session: Arc<Session>,
        due: Instant,
        told: oneshot::Sender<Result<(), TransportError>>,
    ) {
        let mut spot = match self.place.take(session, due).await {
            Ok(spot) => spot,
            Err(error) => {
                let _ = told.send(Err(error));
                return;
            }
        };
        // Whoever gave it up meanwhile is gone, and that is seen below.
        let _ = told.send(Ok(()));
        let mut attempt = 0;
        self.end = loop {
            let began = Instant::now();
            match self.read(&mut spot).await {
                Over::Left => break None,
                Over::Lost => {}
            }
            self.queue.interrupt();
            // A place that was lost as soon as it was taken is no reason to hurry.
            if began.elapsed() >= self.backoff().longest(attempt) {
                attempt = 0;
            }
            match self.again(spot, &mut attempt).await {
                Ok(Some(next)) => spot = next,
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
    }

    async fn read(&mut self, spot: &mut Spot) -> Over {
        let operation = self.place.operation;
        let (link, session) = (Arc::clone(&self.link), Arc::clone(&spot.session));
        let (mut draining, mut lost) =
            (pin!(link.line.reached(Stage::Draining)), pin!(session.over()));
        loop {
            tokio::select! {
                biased;
                // All that is there in one go, whatever tokio thinks of it.
                next = unconstrained(spot.consumer.next()) => match next {
                    Some(Ok(delivery)) => self.take(delivery),
                    Some(Err(_)) | None if link.line.is_closing() => return Over::Left,
                    Some(Err(error)) => {
                        if spot.session.stands() {
                            tracing::warn!(%error, queue = %spot.queue, "a subscription was ended");
                        }
                        return Over::Lost;
                    }
                    None => {
                        tracing::warn!(queue = %spot.queue, "the broker stopped delivering");
                        return Over::Lost;
                    }
                },
                _ = self.gone.changed() => {
                    spot.leave(operation, deadline(link.options.connect_timeout)).await;
                    return Over::Left;
                }
                () = &mut draining => {
                    spot.leave(operation, deadline(link.options.connect_timeout)).await;
                    self.drain(spot);
                    return Over::Left;
                }
                _ = &mut lost => {
                    self.drain(spot);
                    return Over::Lost;
                }
                Ok(()) = self.hearing.asked.changed() => {
                    if let Some(over) = self.hear_all(spot).await {
                        return over;
                    }
                }
            }
        }
    }

    /// Takes all that the broker has for this place, and says so; unless the place is lost meanwhile.
    async fn hear_all(&mut self, spot: &mut Spot) -> Option<Over> {
        let asked = *self.hearing.asked.borrow_and_update();
        let due = deadline(self.link.options.connect_timeout);
        let mut all_came = pin!(spot.all_came(self.place.operation, due));
        let all = loop {
            tokio::select! {
                biased;
                next = unconstrained(spot.consumer.next()) => match next {
                    Some(Ok(delivery)) => self.take(delivery),
                    _ => break Err(None),
                },
                all = &mut all_came => break all.map_err(Some),
            }
        };
        // Whoever waits goes on waiting for the next answer, for as long as it likes.
        let unanswered = match all {
            Ok(()) if !self.drain(spot) => {
                self.hearing.came.send_replace(asked);
                return None;
            }
            Err(Some(error)) if spot.channel.status().connected() => Some(error),
            _ => None,
        };
        self.hearing.asked.mark_changed();
        let Some(error) = unanswered else { return Some(Over::Lost) };
        tracing::debug!(%error, "it is not known whether all has come");
        None
    }

    /// Takes what is there now; whether the end was there too.
    fn drain(&mut self, spot: &mut Spot) -> bool {
        loop {
            match spot.consumer.next().now_or_never() {
                Some(Some(Ok(delivery))) => self.take(delivery),
                Some(_) => return true,
                None => return false,
            }
        }
    }

    fn take(&mut self, delivery: Delivery) {
        match (self.admit)(delivery) {
            Some(Ok(arrival)) => self.queue.push(arrival),
            Some(Err(word)) => self.queue.tell(word),
            None => {}
        }
    }

    /// Takes the place again: in the same session, if the broker only stopped delivering, or in the next.
    /// `None` if there will be none, or no reader.
    async fn again(
        &mut self,
        lost: Spot,
        attempt: &mut u32,
    ) -> Result<Option<Spot>, TransportError> {
        let mut session = Arc::clone(&lost.session);
        drop(lost);
        loop {
            let pause = self.backoff().pause(*attempt, rand::random());
            let next = async {
                if session.stands() {
                    tokio::time::sleep(pause).await;
                }
                match session.stands() {
                    true => Some(Arc::clone(&session)),
                    false => self.link.line.session_after(session.id).await,
                }
            };
            let next = tokio::select! {
                next = next => next,
                _ = self.gone.changed() => None,
                () = self.link.line.reached(Stage::Draining) => None,
            };
            let Some(next) = next else { return Ok(None) };
            session = next;
            *attempt = attempt.saturating_add(1);
            let due = deadline(self.link.options.connect_timeout);
            match self.place.take(Arc::clone(&session), due).await {
                Ok(spot) => {
                    self.link.line.placed(self.id, &session);
                    return Ok(Some(spot));
                }
                Err(error) if !session.stands() => tracing::debug!(%error, "not there yet"),
                Err(error) => match error.kind() {
                    ErrorKind::TimedOut => session.abandon("a subscription had no answer"),
                    _ if error.may_retry() => {
                        tracing::warn!(%error, "a subscription could not be placed again yet");
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    fn backoff(&self) -> Backoff {
        let options = &self.link.options;
        Backoff { min: options.reconnect_min, max: options.reconnect_max }
    }
}
