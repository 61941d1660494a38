use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;

use futures_util::FutureExt as _;
use mesh_core::name::ConsumerName;
use mesh_core::port::{
    Capability, Clock, ConsumeOptions, Delivery, ErrorKind, Operation, Streams, TransportError,
};
use mesh_core::subject::Filter;
use mesh_core::topology::{ConsumerRef, ConsumerRules, StreamName, Topology};
use tracing::Instrument as _;

use crate::binding::Line;
use crate::broker::Broker;
use crate::dispatch::Dispatcher;
use crate::error::SubscribeError;
use crate::event::{HandlerError, ReceivedEvent};
use crate::handlers::Handler;
use crate::limit::{MARGIN, PATIENCE, limited, overdue, within};
use crate::observe::{Consumption, noted};
use crate::places::Room;
use crate::reading::{Opener, Source};
use crate::scope::{Events, Has};
use crate::subscription::Subscription;
use crate::workers::Workers;

/// How many deliveries may wait here for their next try, beside those whose handlers run, where the
/// broker can't wait itself. A broker counts a try for each that a reader holds when it dies, so it is
/// not many.
const RETRIES: usize = 16;
/// How many may wait here for a handler, there: for the same reason not many.
const UNHANDLED: usize = 64;

/// The module's consumer, being read.
pub(crate) struct Consuming {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) line: Line,
}

impl<S: Has<Events>> Broker<S> {
    /// Handles events that match a filter over `<module>.<event>`: `mail.letter.sent`, `mail.*`,
    /// `ledger.>`. With a [`Subscription`] those of a key come one after the other.
    ///
    /// Each event is handled once by each handler whose pattern it matches, also when it is
    /// delivered again. A handler that fails is tried again after a wait, until the consumer's tries
    /// are used up; then, or when it rejects, the event goes to the dead letters with its reason. A
    /// panic is a failure like any other. Several handlers of one pattern count as one: the last
    /// one given stands.
    ///
    /// Events are handled until the broker is closed or its last clone is dropped; those that come later
    /// wait for this module's next reader. Where the consumer is lost meanwhile, because the
    /// controller retired it or the right to it was taken, it is read again as soon as that can be;
    /// [`health`](Self::health) tells of it.
    ///
    /// # Errors
    /// [`SubscribeError::NotConsumed`] before any traffic where the manifest does not cover it. Where
    /// the consumer can't be read now, why; the handler is then not taken. The consumer may come to be
    /// read all the same, also where this is given up midway: what arrives then waits 30 s for a handler
    /// and goes back (`health` counts it), so call it again.
    pub async fn subscribe<P, F, W>(&self, to: P, handler: F) -> Result<(), SubscribeError>
    where
        P: TryInto<Subscription>,
        SubscribeError: From<P::Error>,
        F: Fn(ReceivedEvent) -> W + Send + Sync + 'static,
        W: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        let subscription = to.try_into()?;
        let span = self.0.observer.subscribing(&subscription.pattern);
        let taken = self.take(subscription, Arc::new(move |event| handler(event).boxed()));
        noted(&span, taken.instrument(span.clone()).await, SubscribeError::kind)
    }

    async fn take(
        &self,
        subscription: Subscription,
        handler: Handler,
    ) -> Result<(), SubscribeError> {
        let pattern = &subscription.pattern;
        if !self.0.settings.consumes.iter().any(|consumed| consumed.contains(pattern)) {
            return Err(SubscribeError::NotConsumed { pattern: subscription.pattern });
        }
        // Also who waits for another's first try is back in its own time.
        let bound = limited(&**self.0.connection.clock(), PATIENCE + MARGIN, self.bound()).await;
        let consuming = bound.unwrap_or_else(|| Err(overdue(Operation::Subscribe).into()))?;
        if consuming.dispatcher.register(subscription, handler) {
            Ok(())
        } else {
            Err(TransportError::new(ErrorKind::Closed, Operation::Subscribe).into())
        }
    }

    /// The consumer, once the broker delivers.
    async fn bound(&self) -> Result<&Consuming, SubscribeError> {
        let consuming = self.0.consuming.get_or_try_init(|| self.start_consuming()).await?;
        consuming.line.bound().await?;
        Ok(consuming)
    }

    async fn start_consuming(&self) -> Result<Consuming, SubscribeError> {
        let Events { here, streams } = self.part();
        let name = here.consumer();
        let connection = &self.0.connection;
        let (clock, capabilities) = (connection.clock(), connection.transport().capabilities());
        let handlers = self.0.settings.concurrency;
        // What can be neither handled nor held is left to other readers.
        let (retries, unhandled) = match capabilities.has(Capability::DelayedNak) {
            // All that the broker has out at a time, so that no hold stops what is handled.
            true => (0, ConsumerRules::of(StreamName::Events).max_ack_pending),
            false => (RETRIES, UNHANDLED),
        };
        let room = Room { handlers, retries, unhandled, holds: true };
        let options = ConsumeOptions {
            patterns: self.arriving(&name)?,
            in_flight: NonZeroUsize::new(room.total()).unwrap_or(NonZeroUsize::MIN),
            ..ConsumeOptions::default()
        };
        let open = opener(Arc::clone(clock), Arc::clone(streams), name.clone(), options);
        let observer = &self.0.observer;
        let bound = observer.consumer_bound(&name);
        let source = Source::open(name.to_string(), Operation::Consume, open, bound).await?;
        let consumes = &self.0.settings.consumes;
        let observed = Consumption::new(Arc::clone(observer), name.clone(), consumes);
        let dispatcher = Arc::new(Dispatcher::new(
            name,
            Arc::clone(clock),
            Arc::clone(&self.0.handled),
            self.0.settings.retry,
            capabilities,
            observed,
        ));
        let handling = Arc::clone(&dispatcher);
        let (workers, line) =
            Workers::start(source, Arc::clone(clock), room, move |delivery, place| {
                let dispatcher = Arc::clone(&handling);
                let arrived = dispatcher.arrive(&delivery);
                async move { dispatcher.dispatch(delivery, arrived, place).await }
            });
        self.0.keep(workers, Operation::Subscribe)?;
        Ok(Consuming { dispatcher, line })
    }

    /// The subjects that may arrive: what is consumed, and what is sent back to this consumer.
    fn arriving(&self, name: &ConsumerName) -> Result<Vec<Filter>, SubscribeError> {
        Ok(Topology::arriving(name, &self.0.settings.consumes)?)
    }
}

fn opener(
    clock: Arc<dyn Clock>,
    streams: Arc<dyn Streams>,
    consumer: ConsumerName,
    options: ConsumeOptions,
) -> Opener<Delivery> {
    let consumer = ConsumerRef::new(StreamName::Events, consumer);
    Box::new(move || {
        let (clock, streams) = (Arc::clone(&clock), Arc::clone(&streams));
        let (consumer, options) = (consumer.clone(), options.clone());
        async move {
            let span = options.timeout;
            let consuming = streams.consume(consumer, options);
            within(&*clock, span, Operation::Consume, consuming).await
        }
        .boxed()
    })
}
