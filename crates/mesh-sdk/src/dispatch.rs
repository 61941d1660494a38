//! From a delivery to the handlers that match it, and from their results to its settlement.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use mesh_core::name::ConsumerName;
use mesh_core::port::{Capabilities, Clock, Delivery, DeliveryInfo, Reason, Verdict};
use mesh_core::subject::{Filter, Subject};
use parking_lot::RwLock;
use tokio::sync::Notify;

use crate::causation::caused_by;
use crate::claim::Claims;
use crate::event::{HandlerError, ReceivedEvent};
use crate::handled::{Handled, HandledKey, HandledStore};
use crate::in_hand::InHand;
use crate::limit::limited;
use crate::received::received;
use crate::retry::RetryPolicy;
use crate::workers::{Outcome, Place, Stopped, until_stopped};

pub(crate) type Handler =
    Arc<dyn Fn(ReceivedEvent) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync>;

/// How long a delivery waits for a handler to be registered before it is given back.
const HOLD: Duration = Duration::from_secs(30);
/// How long the store of what was handled is waited for.
const STORE: Duration = Duration::from_secs(10);

/// Knows the handlers, and settles each delivery by what they say.
pub(crate) struct Dispatcher {
    consumer: ConsumerName,
    clock: Arc<dyn Clock>,
    handled: Arc<dyn HandledStore>,
    retry: RetryPolicy,
    /// Nothing once the broker was closed.
    handlers: RwLock<Option<Vec<(Filter, Handler)>>>,
    registered: Notify,
    claims: Claims,
    in_hand: InHand,
}

impl Dispatcher {
    pub(crate) fn new(
        consumer: ConsumerName,
        clock: Arc<dyn Clock>,
        handled: Arc<dyn HandledStore>,
        retry: RetryPolicy,
        capabilities: &Capabilities,
    ) -> Self {
        Self {
            claims: Claims::new(Arc::clone(&clock), capabilities),
            consumer,
            clock,
            handled,
            retry,
            handlers: RwLock::new(Some(Vec::new())),
            registered: Notify::new(),
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

    /// The patterns that have a handler.
    pub(crate) fn patterns(&self) -> Vec<Filter> {
        self.handlers.read().iter().flatten().map(|(pattern, _)| pattern.clone()).collect()
    }

    /// Lets go of the handlers, and with them of the broker that they may hold.
    pub(crate) fn close(&self) {
        let handlers = self.handlers.write().take();
        drop(handlers);
    }

    /// Handles and settles one delivery, renewing its claim meanwhile.
    pub(crate) async fn dispatch(&self, delivery: Delivery, place: Place) -> Outcome {
        let received = received(&delivery);
        if let Err(reason) = &received {
            tracing::warn!(subject = %delivery.message().subject(), %reason, "given up");
        }
        let deciding = self.verdict(received, *delivery.info(), place.stop());
        self.claims.settle(delivery, place, deciding).await
    }

    async fn verdict(
        &self,
        received: Result<ReceivedEvent, Reason>,
        info: DeliveryInfo,
        stop: Stopped,
    ) -> Verdict {
        let received = match received {
            Ok(received) => received,
            Err(reason) => return Verdict::Terminate(reason),
        };
        let Some(handlers) = self.matching(&received, stop).await else {
            return Verdict::Nak { delay: None };
        };
        let (mut done, mut failures) = (Vec::new(), Vec::new());
        for (pattern, handler) in handlers {
            let key = self.key(pattern, &received);
            match self.run(key.clone(), handler, received.clone()).await {
                Ok(()) => done.push(key),
                Err(error) => failures.push(error),
            }
        }
        let verdict = self.conclude(info, &failures);
        if matches!(verdict, Verdict::Nak { .. }) {
            self.remember(done).await;
        }
        verdict
    }

    fn key(&self, handler: Filter, received: &ReceivedEvent) -> HandledKey {
        HandledKey {
            consumer: self.consumer.clone(),
            handler,
            module: received.module.clone(),
            event: received.event.id().clone(),
        }
    }

    /// Records again what was handled of an event that comes again: it must be known from now on, and
    /// the handler that failed may have taken any time.
    async fn remember(&self, done: Vec<HandledKey>) {
        for key in done {
            if let Err(error) = self.stored(self.handled.record(key)).await {
                tracing::warn!(consumer = %self.consumer, %error, "may be handled again");
            }
        }
    }

    /// The handlers that match, waiting for one to be registered; none if that takes too long.
    async fn matching(
        &self,
        received: &ReceivedEvent,
        mut stop: Stopped,
    ) -> Option<Vec<(Filter, Handler)>> {
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
                () = until_stopped(&mut stop) => return None,
            }
        }
    }

    /// Runs one handler unless it has handled this event, and records that it has.
    async fn run(
        &self,
        key: HandledKey,
        handler: Handler,
        received: ReceivedEvent,
    ) -> Result<(), HandlerError> {
        // Of two copies in hand at a time the second waits, and then finds it handled.
        let _turn = self.in_hand.take(key.clone()).await;
        match self.stored(self.handled.look_up(&key)).await? {
            Handled::Yes => return Ok(()),
            Handled::No => {}
        }
        let cause = Some(received.event.id().clone());
        let handling = caused_by(cause, async move { handler(received).await });
        AssertUnwindSafe(handling)
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| Err(HandlerError::retry(panic_text(&*panic))))?;
        self.stored(self.handled.record(key)).await
    }

    /// What the store says, if it does so in time.
    async fn stored<T>(
        &self,
        asking: impl Future<Output = Result<T, String>> + Send,
    ) -> Result<T, HandlerError> {
        match limited(&*self.clock, STORE, asking).await {
            Some(said) => said.map_err(HandlerError::retry),
            None => Err(HandlerError::retry("the store of what was handled gives no answer")),
        }
    }

    fn conclude(&self, info: DeliveryInfo, failures: &[HandlerError]) -> Verdict {
        let Some(first) = failures.first() else {
            return Verdict::Ack;
        };
        let again = failures.iter().find(|failure| failure.is_retry());
        match again {
            Some(failure) if !info.is_last_attempt() => {
                let wait = failure.wait().unwrap_or_else(|| self.retry.after(info.attempt));
                if wait > RetryPolicy::LONGEST {
                    tracing::warn!(consumer = %self.consumer, ?wait, "a wait is cut to the longest");
                }
                Verdict::Nak { delay: Some(wait.min(RetryPolicy::LONGEST)) }
            }
            _ => Verdict::Terminate(Reason::new(again.unwrap_or(first).to_string())),
        }
    }
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the handler panicked: {}", text.unwrap_or_else(|| "no message".to_owned()))
}
