//! Events that arrive and are handled.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use mesh_core::name::ConsumerName;
use mesh_core::port::Verdict;
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::Topology;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use super::metrics::{
    Attributes, BOUND, CONSUMED, DUPLICATES, GIVEN_UP, HELD_BACK, IN_FLIGHT, Metric, PROCESS,
    REDELIVERED, RETRIES, UNHANDLED, count, time_end, with,
};
use super::sending::failed;
use super::{Gauge, Observer};
use crate::causation::{Origin, coming_from};
use crate::event::{HandlerError, ReceivedEvent};
use crate::handlers::Registered;
use crate::panics::panic_text;

/// What is observed of one consumer.
pub(crate) struct Consumption {
    observer: Arc<Observer>,
    consumer: ConsumerName,
    pub(crate) in_flight: Gauge,
    pub(crate) held_back: Gauge,
    arriving: Vec<(Filter, Arc<Arriving>)>,
    other: Arc<Arriving>,
}

impl Consumption {
    /// Of a consumer of these patterns over `<module>.<event>`.
    pub(crate) fn new(
        observer: Arc<Observer>,
        consumer: ConsumerName,
        patterns: &[Filter],
    ) -> Self {
        let of_consumer = attributes(&observer, &consumer);
        let arriving = |pattern: &str| {
            let destination =
                of_consumer.clone().destination(Topology::events(pattern).to_string());
            Arc::new(Arriving::new(&destination))
        };
        Self {
            in_flight: Gauge::new(of_consumer.metric(IN_FLIGHT)),
            held_back: Gauge::new(of_consumer.metric(HELD_BACK)),
            arriving: patterns
                .iter()
                .map(|pattern| (pattern.clone(), arriving(pattern.as_str())))
                .collect(),
            other: arriving(">"),
            observer,
            consumer,
        }
    }

    /// What waits for a handler.
    pub(crate) fn unhandled(&self) -> Gauge {
        Gauge::new(attributes(&self.observer, &self.consumer).metric(UNHANDLED))
    }

    /// What is observed of the handler of `pattern`.
    pub(crate) fn handling(&self, pattern: &Filter) -> Handling {
        let destination = Topology::events(pattern).to_string();
        let attributes = attributes(&self.observer, &self.consumer).destination(destination);
        Handling {
            duplicates: attributes.metric(DUPLICATES),
            duration: attributes.operation("process", "process").metric(PROCESS),
        }
    }

    /// Counts an arrival: its `<module>.<event>`, where it has one, and which try it is.
    pub(crate) fn arrived(&self, key: Option<&Subject>, attempt: u32) -> Arc<Arriving> {
        let of = key.and_then(|key| self.arriving.iter().find(|(pattern, _)| pattern.matches(key)));
        let arriving = of.map_or(&self.other, |(_, arriving)| arriving);
        count(&arriving.consumed);
        if attempt > 1 {
            count(&arriving.redelivered);
        }
        Arc::clone(arriving)
    }

    /// Runs a handler in a span of its own. A panic is a failure like any other.
    pub(crate) async fn handle(
        &self,
        registered: &Registered,
        received: ReceivedEvent,
    ) -> Result<(), HandlerError> {
        let (measured, event) = (&registered.measured, &received.event);
        let span = self.span(&registered.pattern, &received);
        let trace = self.observer.incoming(event.trace(), &span);
        let origin = Origin { cause: Some(event.id().clone()), trace };
        let (clock, handler) = (&self.observer.clock, Arc::clone(&registered.handler));
        let began = clock.monotonic();
        // The handler is called in here too: it may panic, or publish, before it gives its future.
        let handling = coming_from(origin, async move { handler(received).await });
        let (result, error) =
            match AssertUnwindSafe(handling.instrument(span.clone())).catch_unwind().await {
                Ok(Ok(())) => (Ok(()), None),
                Ok(Err(error)) if error.is_retry() => (Err(error), Some("retry")),
                Ok(Err(error)) => (Err(error), Some("reject")),
                Err(panic) => (Err(HandlerError::retry(panic_text(&*panic))), Some("panic")),
            };
        time_end(&measured.duration, clock.monotonic().saturating_sub(began), error);
        if let Some(error) = error {
            failed(&span, error);
        }
        result
    }

    fn span(&self, pattern: &Filter, received: &ReceivedEvent) -> Span {
        let event = &received.event;
        let named = format_args!("{}.{}", received.module, received.name);
        let subject = Topology::events(named);
        tracing::info_span!(
            target: "mesh_sdk",
            parent: None,
            "process",
            otel.name = format_args!("process {subject}"),
            otel.kind = "consumer",
            otel.status_code = Empty,
            messaging.system = self.observer.system,
            messaging.operation.name = "process",
            messaging.operation.type = "process",
            messaging.destination.name = %subject,
            messaging.destination.template = %Topology::events(pattern),
            messaging.consumer.group.name = %self.consumer,
            messaging.message.id = %event.id(),
            messaging.message.body.size = event.data().as_bytes().len(),
            mesh.attempt = received.attempt,
            trace_id = Empty,
            span_id = Empty,
            error.type = Empty,
        )
    }
}

fn attributes(observer: &Observer, consumer: &ConsumerName) -> Attributes {
    let attributes = Attributes::of(observer.system);
    attributes.with("messaging.consumer.group.name", consumer.to_string())
}

impl Observer {
    /// Whether the broker delivers to a consumer.
    pub(crate) fn consumer_bound(&self, consumer: &ConsumerName) -> Metric {
        attributes(self, consumer).metric(BOUND)
    }
}

/// What is measured of the events of one of the patterns that are consumed.
pub(crate) struct Arriving {
    consumed: Metric,
    redelivered: Metric,
    retries: Metric,
    given_up: Metric,
}

impl Arriving {
    fn new(attributes: &Attributes) -> Self {
        Self {
            consumed: attributes.clone().operation("subscribe", "receive").metric(CONSUMED),
            redelivered: attributes.metric(REDELIVERED),
            retries: attributes.metric(RETRIES),
            given_up: attributes.metric(GIVEN_UP),
        }
    }

    pub(crate) fn decided(&self, verdict: &Verdict) {
        match verdict {
            Verdict::Nak { delay: Some(_) } => self.again(),
            Verdict::Terminate(reason) => {
                count(&with(&self.given_up, "mesh.reason", reason.kind().as_str()));
            }
            Verdict::Ack | Verdict::Nak { delay: None } => {}
        }
    }

    /// A try has failed and is made again.
    pub(crate) fn again(&self) {
        count(&self.retries);
    }
}

/// What is measured of one handler of events.
pub(crate) struct Handling {
    duration: Metric,
    duplicates: Metric,
}

impl Handling {
    /// A run was passed over, as the handler had handled the event.
    pub(crate) fn passed_over(&self) {
        count(&self.duplicates);
    }
}
