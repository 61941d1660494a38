//! From a delivery to the handlers that match it, and from their results to its settlement.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use mesh_core::name::ConsumerName;
use mesh_core::port::{Capabilities, Clock, Delivery, DeliveryInfo, Reason, Verdict};
use mesh_core::subject::{Filter, Subject};

use crate::causation::caused_by;
use crate::claim::Claims;
use crate::event::{HandlerError, ReceivedEvent};
use crate::handled::{Handled, HandledKey, HandledStore};
use crate::handlers::{Handler, Handlers, Unmatched};
use crate::in_hand::InHand;
use crate::limit::limited;
use crate::places::Place;
use crate::received::received;
use crate::rejected::Rejections;
use crate::retry::RetryPolicy;
use crate::workers::Outcome;

/// How long the store of what was handled is waited for.
const STORE: Duration = Duration::from_secs(10);

/// Knows the handlers, and settles each delivery by what they say.
pub(crate) struct Dispatcher {
    consumer: ConsumerName,
    clock: Arc<dyn Clock>,
    handled: Arc<dyn HandledStore>,
    retry: RetryPolicy,
    rejections: Rejections,
    handlers: Handlers,
    claims: Claims,
    in_hand: InHand<HandledKey>,
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
            rejections: Rejections::new(Arc::clone(&clock)),
            consumer,
            clock,
            handled,
            retry,
            handlers: Handlers::new(),
            in_hand: InHand::default(),
        }
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    /// Handles and settles one delivery, renewing its claim meanwhile.
    pub(crate) async fn dispatch(&self, delivery: Delivery, place: Place) -> Outcome {
        let received = received(&delivery);
        if let Err(reason) = &received {
            tracing::warn!(subject = %delivery.message().subject(), %reason, "given up");
        }
        let deciding = self.verdict(received, *delivery.info(), &place);
        self.claims.settle(delivery, &place, deciding).await
    }

    async fn verdict(
        &self,
        received: Result<ReceivedEvent, Reason>,
        info: DeliveryInfo,
        place: &Place,
    ) -> Verdict {
        let received = match received {
            Ok(received) => received,
            Err(reason) => return Verdict::Terminate(reason),
        };
        let key = match Subject::new(format!("{}.{}", received.module, received.name)) {
            Ok(key) => key,
            Err(error) => return Verdict::Terminate(Reason::undecodable(error.to_string())),
        };
        let handlers = match self.handlers.matching(&key, &*self.clock, place).await {
            Ok(handlers) => handlers,
            Err(Unmatched::Nobody) => return self.nobody(&key, info),
            Err(Unmatched::Stopped) => return Verdict::Nak { delay: None },
        };
        let (mut done, mut failures) = (Vec::new(), Vec::new());
        for (pattern, handler) in handlers {
            let key = self.key(pattern, &received);
            match self.run(key.clone(), handler, received.clone()).await {
                Ok(()) => done.push(key),
                Err(error) => failures.push((key, error)),
            }
        }
        let verdict = self.conclude(info, &failures);
        let again = matches!(verdict, Verdict::Nak { .. });
        for (key, error) in failures {
            if again && !error.is_retry() {
                self.rejections.note(key, &error);
            } else {
                self.rejections.forget(&key);
            }
        }
        if again {
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

    /// An event that nobody handles is put back, for longer each time, so that it does not come before
    /// all others at once.
    fn nobody(&self, key: &Subject, info: DeliveryInfo) -> Verdict {
        self.handlers.tell(key, &self.consumer);
        if info.is_last_attempt() {
            return Verdict::Terminate(Reason::new(format!("no handler for {key}")));
        }
        Verdict::Nak { delay: Some(self.retry.after(info.attempt)) }
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
        if let Some(rejected) = self.rejections.earlier(&key, received.attempt) {
            return Err(rejected);
        }
        let cause = Some(received.event.id().clone());
        let handling = caused_by(cause, async move { handler(received).await });
        let result = AssertUnwindSafe(handling)
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| Err(HandlerError::retry(panic_text(&*panic))));
        match result {
            Ok(()) => self.stored(self.handled.record(key)).await,
            Err(error) => {
                if !error.is_retry() {
                    // Before the turn is another copy's.
                    self.rejections.note(key, &error);
                }
                Err(error)
            }
        }
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

    fn conclude(&self, info: DeliveryInfo, failures: &[(HandledKey, HandlerError)]) -> Verdict {
        let mut failures = failures.iter().map(|(_, failure)| failure);
        let Some(first) = failures.clone().next() else {
            return Verdict::Ack;
        };
        let again = failures.find(|failure| failure.is_retry());
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
