//! The handlers of a broker's events, and how a delivery waits for one that is not there yet.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use mesh_core::name::ConsumerName;
use mesh_core::port::Clock;
use mesh_core::subject::{Filter, Subject};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::event::{HandlerError, ReceivedEvent};
use crate::lanes::{Lanes, Turn};
use crate::observe::{Gauge, Handling};
use crate::places::{Aside, Place, until_stopped};
use crate::subscription::{KeyOf, Subscription};

pub(crate) type Handler =
    Arc<dyn Fn(ReceivedEvent) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync>;

/// How long a delivery waits for a handler to be registered before it is put back (protocol §3).
const HOLD: Duration = Duration::from_secs(30);
/// How many events are told to have no handler, each once; others choose their names.
const TOLD: usize = 100;

/// Why no handler was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmatched {
    /// None was registered in time.
    Nobody,
    /// The broker leaves.
    Stopped,
}

/// A handler, and what is known of its pattern.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) pattern: Filter,
    pub(crate) handler: Handler,
    pub(crate) measured: Arc<Handling>,
    order: Option<KeyOf>,
}

/// A handler that is to run, and its turn where its events have an order. Where no key could be told it
/// is why.
pub(crate) struct Matched {
    pub(crate) registered: Registered,
    pub(crate) turn: Option<Result<Turn, HandlerError>>,
}

pub(crate) struct Handlers {
    known: Mutex<Known>,
    lanes: Lanes,
    /// Held while turns are given, so that they follow the order of arrival. Not `known`: the
    /// functions that tell keys are others', and may look at the broker.
    ordering: Mutex<()>,
    registered: Notify,
    /// How many deliveries wait for a handler.
    waiting: Gauge,
    told: Mutex<HashSet<String>>,
}

#[derive(Default)]
struct Known {
    /// Nothing once the broker was closed.
    handlers: Option<Vec<Registered>>,
    /// What has arrived and has not begun, by the number of its arrival.
    arrived: BTreeMap<u64, Arrived>,
    arrivals: u64,
}

struct Arrived {
    key: Subject,
    event: Arc<ReceivedEvent>,
    turns: Vec<(Filter, Result<Turn, HandlerError>)>,
}

impl Handlers {
    pub(crate) fn new(waiting: Gauge) -> Self {
        Self {
            known: Mutex::new(Known { handlers: Some(Vec::new()), ..Known::default() }),
            lanes: Lanes::default(),
            ordering: Mutex::default(),
            registered: Notify::new(),
            waiting,
            told: Mutex::default(),
        }
    }

    /// Takes a handler; says whether it is not too late for one.
    pub(crate) fn register(
        &self,
        subscription: Subscription,
        handler: Handler,
        measured: Handling,
    ) -> bool {
        let Subscription { pattern, order } = subscription;
        let measured = Arc::new(measured);
        let registered = Registered { pattern: pattern.clone(), handler, measured, order };
        let ordering = self.ordering.lock();
        // What has arrived already comes before what arrives from now on.
        let arrived = match &registered.order {
            Some(_) => self.known.lock().matching(&pattern),
            None => Vec::new(),
        };
        let turns = arrived.into_iter();
        let turns: Vec<_> = turns.map(|(at, event)| (at, self.turn(&registered, &event))).collect();
        let mut known = self.known.lock();
        let Some(handlers) = &mut known.handlers else {
            return false;
        };
        handlers.retain(|other| other.pattern != pattern);
        handlers.push(registered);
        for arrived in known.arrived.values_mut() {
            arrived.turns.retain(|(other, _)| *other != pattern);
        }
        for (number, turn) in turns {
            if let (Some(arrived), Some(turn)) = (known.arrived.get_mut(&number), turn) {
                arrived.turns.push((pattern.clone(), turn));
            }
        }
        drop((known, ordering));
        self.registered.notify_waiters();
        true
    }

    /// Takes in what arrives, in the order in which it does.
    pub(crate) fn arrive(self: &Arc<Self>, key: Subject, event: Arc<ReceivedEvent>) -> Arrival {
        let _ordering = self.ordering.lock();
        let ordered: Vec<_> =
            self.known.lock().of(&key).filter(|of| of.order.is_some()).cloned().collect();
        let turn = |of: Registered| Some((of.pattern.clone(), self.turn(&of, &event)?));
        let turns = ordered.into_iter().filter_map(turn).collect();
        let mut known = self.known.lock();
        known.arrivals += 1;
        let number = known.arrivals;
        known.arrived.insert(number, Arrived { key: key.clone(), event, turns });
        drop(known);
        Arrival { handlers: Arc::clone(self), key, number }
    }

    /// The turn of an event at a handler whose events have an order.
    fn turn(&self, of: &Registered, event: &ReceivedEvent) -> Option<Result<Turn, HandlerError>> {
        let key_of = of.order.as_ref()?;
        let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| key_of(event)));
        Some(match asked {
            Ok(key) => Ok(self.lanes.join(of.pattern.clone(), key)),
            Err(_) => Err(HandlerError::reject("the function that tells the event's key panicked")),
        })
    }

    /// The patterns that have a handler.
    pub(crate) fn patterns(&self) -> Vec<Filter> {
        let known = self.known.lock();
        known.handlers.iter().flatten().map(|handler| handler.pattern.clone()).collect()
    }

    /// How many deliveries wait here for a handler.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.count()
    }

    /// Lets go of the handlers, and with them of the broker that they may hold.
    pub(crate) fn close(&self) {
        let handlers = self.known.lock().handlers.take();
        drop(handlers);
    }

    /// Says in the log that nobody handles `key`, the first time.
    pub(crate) fn tell(&self, key: &Subject, consumer: &ConsumerName) {
        let mut told = self.told.lock();
        if told.len() < TOLD && told.insert(key.to_string()) {
            tracing::warn!(%consumer, "events of {key} have no handler: each is held for {HOLD:?}, \
                put back, and after its last try a dead letter");
        }
    }
}

impl Known {
    fn of(&self, key: &Subject) -> impl Iterator<Item = &Registered> {
        self.handlers.iter().flatten().filter(|handler| handler.pattern.matches(key))
    }

    /// What has arrived and matches `pattern`, in order.
    fn matching(&self, pattern: &Filter) -> Vec<(u64, Arc<ReceivedEvent>)> {
        let matching = self.arrived.iter().filter(|(_, arrived)| pattern.matches(&arrived.key));
        matching.map(|(number, arrived)| (*number, Arc::clone(&arrived.event))).collect()
    }
}

/// A delivery that has arrived. Until it has begun it has a place in the order; dropped, that is free.
pub(crate) struct Arrival {
    handlers: Arc<Handlers>,
    key: Subject,
    number: u64,
}

impl Arrival {
    /// `<module>.<event>`.
    pub(crate) fn key(&self) -> &Subject {
        &self.key
    }

    /// Waits until a handler that matches is registered. What waits leaves its place to others, and takes
    /// one again before its handler runs.
    pub(crate) async fn handlers(&self, clock: &dyn Clock, place: &Place) -> Result<(), Unmatched> {
        let handlers = &self.handlers;
        let mut stop = place.stop();
        let mut waiting = None;
        let give_up = clock.sleep(HOLD);
        tokio::pin!(give_up);
        loop {
            let registered = handlers.registered.notified();
            tokio::pin!(registered);
            // From here on a registration is heard, so none slips in between look and wait.
            registered.as_mut().enable();
            let is_matched = handlers.known.lock().of(&self.key).next().is_some();
            if is_matched {
                drop(waiting.take());
                if place.runs() {
                    return Ok(());
                }
                tokio::select! {
                    biased;
                    () = until_stopped(&mut stop) => return Err(Unmatched::Stopped),
                    // By then there may be others.
                    () = place.come_back() => continue,
                }
            }
            waiting.get_or_insert_with(|| handlers.waiting.enter());
            tokio::select! {
                biased;
                () = until_stopped(&mut stop) => return Err(Unmatched::Stopped),
                () = &mut registered => {}
                () = &mut give_up => return Err(Unmatched::Nobody),
                () = place.step_aside(Aside::Handler), if place.runs() => {}
            }
        }
    }

    /// The handlers that match now. Those whose events have an order come last.
    pub(crate) fn begin(&self) -> Vec<Matched> {
        let mut known = self.handlers.known.lock();
        let registered: Vec<_> = known.of(&self.key).cloned().collect();
        let mut turns = known.arrived.remove(&self.number).map_or_else(Vec::new, |of| of.turns);
        drop(known);
        let with_turn = |registered: Registered| {
            let at = turns.iter().position(|(pattern, _)| *pattern == registered.pattern);
            let turn = at.map(|at| turns.swap_remove(at).1);
            Matched { registered, turn }
        };
        let mut matched: Vec<_> = registered.into_iter().map(with_turn).collect();
        matched.sort_by_key(|matched| matched.turn.is_some());
        matched
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.handlers.known.lock().arrived.remove(&self.number);
    }
}
