//! From a delivery to the handlers that match it, and from their results to its settlement.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use mesh_core::event::Event;
use mesh_core::name::ConsumerName;
use mesh_core::port::{Clock, Delivery, Reason, TransportError, Verdict};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::MeshSubject;
use parking_lot::RwLock;
use tokio::sync::Notify;

use crate::causation::caused_by;
use crate::event::{HandlerError, ReceivedEvent};
use crate::handled::{Handled, HandledKey, HandledStore};
use crate::in_hand::InHand;
use crate::retry::RetryPolicy;

pub(crate) type Handler =
    Arc<dyn Fn(ReceivedEvent) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync>;

/// How often a delivery in hand is reported on where the transport does not say how long a claim
/// lasts; else it is a third of that (protocol §3).
const PROGRESS: Duration = Duration::from_secs(10);
/// How long a delivery waits for a handler to be registered before it is given back.
const HOLD: Duration = Duration::from_secs(30);

/// Knows the handlers, and settles each delivery by what they say.
pub(crate) struct Dispatcher {
    consumer: ConsumerName,
    clock: Arc<dyn Clock>,
    handled: Arc<dyn HandledStore>,
    retry: RetryPolicy,
    /// Nothing once the broker was closed.
    handlers: RwLock<Option<Vec<(Filter, Handler)>>>,
    registered: Notify,
    /// Why nothing more is read.
    over: OnceLock<TransportError>,
    in_hand: InHand,
}

impl Dispatcher {
    pub(crate) fn new(
        consumer: ConsumerName,
        clock: Arc<dyn Clock>,
        handled: Arc<dyn HandledStore>,
        retry: RetryPolicy,
    ) -> Self {
        Self {
            consumer,
            clock,
            handled,
            retry,
            handlers: RwLock::new(Some(Vec::new())),
            registered: Notify::new(),
            over: OnceLock::new(),
            in_hand: InHand::default(),
        }
    }

    /// Takes a handler; says whether it is not too late for one.
    pub(crate) fn register(&self, pattern: Filter, handler: Handler) -> bool {
        if let Some(handlers) = &mut *self.handlers.write() {
            handlers.retain(|(other, _)| *other != pattern);
            handlers.push((pattern, handler));
        } else {
            return false;
        }
        self.registered.notify_waiters();
        true
    }

    /// Notes why nothing more is read.
    pub(crate) fn end(&self, error: TransportError) {
        // It ends once.
        let _ = self.over.set(error);
    }

    pub(crate) fn over(&self) -> Option<&TransportError> {
        self.over.get()
    }

    /// Lets go of the handlers, and with them of the broker that they may hold.
    pub(crate) fn close(&self) {
        let handlers = self.handlers.write().take();
        drop(handlers);
    }

    /// Handles and settles one delivery, reporting on it meanwhile.
    pub(crate) async fn dispatch(&self, delivery: Delivery) {
        let every = delivery.info().ack_wait.map_or(PROGRESS, |wait| wait / 3);
        let verdict = {
            let work = self.verdict(&delivery);
            tokio::pin!(work);
            loop {
                tokio::select! {
                    biased;
                    verdict = &mut work => break verdict,
                    () = self.clock.sleep(every) => {
                        if let Err(error) = delivery.progress().await {
                            tracing::debug!(%error, "could not report progress");
                        }
                    }
                }
            }
        };
        if let Err(error) = delivery.settle(verdict).await {
            tracing::warn!(%error, "could not settle a delivery; it will come again");
        }
    }

    async fn verdict(&self, delivery: &Delivery) -> Verdict {
        let received = match received(delivery) {
            Ok(received) => received,
            Err(reason) => {
                tracing::warn!(subject = %delivery.message().subject(), %reason, "given up");
                return Verdict::Terminate(reason);
            }
        };
        let Some(handlers) = self.matching(&received).await else {
            return Verdict::Nak { delay: None };
        };
        let mut failures = Vec::new();
        for (pattern, handler) in handlers {
            if let Err(error) = self.run(pattern, handler, received.clone()).await {
                failures.push(error);
            }
        }
        self.conclude(delivery, &failures)
    }

    /// The handlers that match, waiting for one to be registered; none if that takes too long.
    async fn matching(&self, received: &ReceivedEvent) -> Option<Vec<(Filter, Handler)>> {
        let key = Subject::new(format!("{}.{}", received.module, received.name)).ok()?;
        let give_up = self.clock.sleep(HOLD);
        tokio::pin!(give_up);
        loop {
            let registered = self.registered.notified();
            tokio::pin!(registered);
            // From here on a registration is heard, so none slips in between look and wait.
            registered.as_mut().enable();
            let found: Vec<_> = {
                let handlers = self.handlers.read();
                handlers
                    .iter()
                    .flatten()
                    .filter(|(pattern, _)| pattern.matches(&key))
                    .cloned()
                    .collect()
            };
            if !found.is_empty() {
                return Some(found);
            }
            tokio::select! {
                () = &mut registered => {}
                () = &mut give_up => return None,
            }
        }
    }

    /// Runs one handler unless it has handled this event, and records that it has.
    async fn run(
        &self,
        handler_name: Filter,
        handler: Handler,
        received: ReceivedEvent,
    ) -> Result<(), HandlerError> {
        let key = HandledKey {
            consumer: self.consumer.clone(),
            handler: handler_name,
            module: received.module.clone(),
            event: received.event.id().clone(),
        };
        // Of two copies in hand at a time the second waits, and then finds it handled.
        let _turn = self.in_hand.take(key.clone()).await;
        match self.handled.look_up(&key).await.map_err(HandlerError::retry)? {
            Handled::Yes => return Ok(()),
            Handled::No => {}
        }
        let cause = Some(received.event.id().clone());
        let handling = caused_by(cause, async move { handler(received).await });
        AssertUnwindSafe(handling)
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| Err(HandlerError::retry(panic_text(&*panic))))?;
        self.handled.record(key).await.map_err(HandlerError::retry)
    }

    fn conclude(&self, delivery: &Delivery, failures: &[HandlerError]) -> Verdict {
        let Some(first) = failures.first() else {
            return Verdict::Ack;
        };
        let again = failures.iter().find(|failure| failure.is_retry());
        match again {
            Some(failure) if !delivery.is_last_attempt() => {
                let wait = failure.wait();
                let delay = wait.unwrap_or_else(|| self.retry.after(delivery.info().attempt));
                Verdict::Nak { delay: Some(delay) }
            }
            _ => Verdict::Terminate(Reason::new(again.unwrap_or(first).to_string())),
        }
    }
}

/// The event in a delivery, or why it can't be one.
fn received(delivery: &Delivery) -> Result<ReceivedEvent, Reason> {
    let message = delivery.message();
    let undecodable = |error: &dyn std::fmt::Display| Reason::undecodable(error.to_string());
    let (module, name, replayed) = match MeshSubject::parse(message.subject()) {
        Ok(MeshSubject::Event { module, event }) => (module, event, false),
        Ok(MeshSubject::Replay { module, event, .. }) => (module, event, true),
        Ok(_) => return Err(Reason::undecodable("not the subject of an event")),
        Err(error) => return Err(undecodable(&error)),
    };
    let event = Event::decode(message.headers().iter(), message.payload().clone())
        .map_err(|error| undecodable(&error))?;
    event.verify_source(&module).map_err(|error| Reason::unverifiable(error.to_string()))?;
    let attempt = delivery.info().attempt;
    Ok(ReceivedEvent { module, name, event, attempt, replayed })
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the handler panicked: {}", text.unwrap_or_else(|| "no message".to_owned()))
}
