use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;

use futures_util::FutureExt as _;
use mesh_core::name::ConsumerName;
use mesh_core::port::{ConsumeOptions, ErrorKind, Operation, ReceiveError, TransportError};
use mesh_core::subject::Filter;
use mesh_core::topology::{ConsumerRef, StreamName};

use crate::broker::Broker;
use crate::dispatch::Dispatcher;
use crate::error::SubscribeError;
use crate::event::{HandlerError, ReceivedEvent};
use crate::workers::Workers;

impl Broker {
    /// Handles events that match `pattern`, a filter over `<module>.<event>`: `mail.letter.sent`,
    /// `mail.*`, `ledger.>`.
    ///
    /// Each event is handled once by each handler whose pattern it matches, also when it is
    /// delivered again. A handler that fails is tried again after a wait, until the consumer's tries
    /// are used up; then, or when it rejects, the event goes to the dead letters with its reason. A
    /// panic is a failure like any other. Several handlers of one pattern count as one: the last
    /// one given stands.
    ///
    /// Events are handled until the broker is closed or its last clone is dropped; those that come later
    /// wait for this module's next reader.
    ///
    /// # Errors
    /// [`SubscribeError::NotConsumed`] before any traffic where the manifest does not cover it. Once
    /// reading has ended, because the consumer was retired or the connection dropped, that is told.
    pub async fn subscribe<P, F, W>(&self, pattern: P, handler: F) -> Result<(), SubscribeError>
    where
        P: TryInto<Filter>,
        SubscribeError: From<P::Error>,
        F: Fn(ReceivedEvent) -> W + Send + Sync + 'static,
        W: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        let pattern = pattern.try_into()?;
        if !self.0.settings.consumes.iter().any(|consumed| consumed.contains(&pattern)) {
            return Err(SubscribeError::NotConsumed { pattern });
        }
        let dispatcher = self.0.dispatcher.get_or_try_init(|| self.start_consuming()).await?;
        if let Some(error) = dispatcher.over() {
            return Err(error.clone().into());
        }
        if dispatcher.register(pattern, Arc::new(move |event| handler(event).boxed())) {
            Ok(())
        } else {
            Err(TransportError::new(ErrorKind::Closed, Operation::Subscribe).into())
        }
    }

    async fn start_consuming(&self) -> Result<Arc<Dispatcher>, SubscribeError> {
        let (node, module) = self.module()?;
        let name = ConsumerName::of_module(node, module);
        let patterns = self.arriving(&name)?;
        let consumer = ConsumerRef::new(StreamName::Events, name.clone());
        let options = ConsumeOptions {
            patterns,
            // What is not handled yet is left to other readers.
            in_flight: NonZeroUsize::new(self.0.settings.concurrency).unwrap_or(NonZeroUsize::MIN),
            ..ConsumeOptions::default()
        };
        let deliveries = self.0.connection.streams()?.consume(consumer, options).await?;
        let dispatcher = Arc::new(Dispatcher::new(
            name.clone(),
            Arc::clone(self.0.connection.clock()),
            Arc::clone(&self.0.handled),
            self.0.settings.retry,
        ));
        let (handling, reading) = (Arc::clone(&dispatcher), Arc::clone(&dispatcher));
        let workers = Workers::start(
            deliveries,
            Arc::clone(self.0.connection.clock()),
            self.0.settings.concurrency,
            move |delivery| {
                let dispatcher = Arc::clone(&handling);
                async move { dispatcher.dispatch(delivery).await }
            },
            move |error| {
                tell(&name, &error);
                if let ReceiveError::Ended(error) = error {
                    reading.end(error);
                }
            },
        );
        self.0.keep(workers, Operation::Subscribe)?;
        Ok(dispatcher)
    }

    /// The subjects that may arrive: what is consumed, and what is sent back to this consumer.
    fn arriving(&self, name: &ConsumerName) -> Result<Vec<Filter>, SubscribeError> {
        let mut patterns = vec![Filter::new(format!("mesh.replay.{name}.>"))?];
        for consumed in &self.0.settings.consumes {
            patterns.push(Filter::new(format!("mesh.events.{consumed}"))?);
        }
        Ok(patterns)
    }
}

fn tell(name: &ConsumerName, error: &ReceiveError) {
    if error.is_terminal() {
        tracing::error!(consumer = %name, error = %error, cause = ?error, "events are no longer read");
    } else {
        tracing::warn!(consumer = %name, error = %error, "while reading events");
    }
}
