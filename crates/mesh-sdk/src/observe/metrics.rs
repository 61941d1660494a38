//! The metrics: their names, and how they reach whoever records them.
//!
//! What is kept is the name and the attributes of a metric, never a recorder's handle: a recorder may be
//! installed at any time, and where there is none nothing is done.

use std::borrow::Cow;
use std::time::Duration;

use ::metrics::{Key, Label, Level, Metadata, Unit, with_recorder};

/// A metric with its attributes.
pub(crate) type Metric = Key;

pub(super) const SENT: &str = "messaging.client.sent.messages";
pub(super) const CONSUMED: &str = "messaging.client.consumed.messages";
pub(super) const OPERATION: &str = "messaging.client.operation.duration";
pub(super) const PROCESS: &str = "messaging.process.duration";
pub(super) const REDELIVERED: &str = "mesh.events.redelivered";
pub(super) const DUPLICATES: &str = "mesh.events.duplicates";
pub(super) const RETRIES: &str = "mesh.events.retries";
pub(super) const GIVEN_UP: &str = "mesh.events.given_up";
pub(super) const IN_FLIGHT: &str = "mesh.events.in_flight";
pub(super) const UNHANDLED: &str = "mesh.events.unhandled";
pub(super) const HELD_BACK: &str = "mesh.events.held_back";
pub(super) const CALLS: &str = "mesh.calls.in_flight";
pub(super) const EXPIRED: &str = "mesh.calls.expired";
pub(super) const LOST: &str = "mesh.answers.lost";
pub(super) const BOUND: &str = "mesh.bound";

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

const ALL: [(Kind, &str, &str); 15] = [
    (Kind::Counter, SENT, "Events and questions that were sent, or were to be."),
    (Kind::Counter, CONSUMED, "Events and calls that arrived."),
    (Kind::Histogram, OPERATION, "From a publish or request to its confirmation or answer."),
    (Kind::Histogram, PROCESS, "How long a handler ran."),
    (Kind::Counter, REDELIVERED, "Events that arrived for another try."),
    (
        Kind::Counter,
        DUPLICATES,
        "Runs of a handler that were passed over: it had handled the event.",
    ),
    (Kind::Counter, RETRIES, "Tries that failed and are made again."),
    (Kind::Counter, GIVEN_UP, "Events that were given up: dead letters."),
    (Kind::Gauge, IN_FLIGHT, "Events that are in hand."),
    (Kind::Gauge, UNHANDLED, "Events in hand that wait for a handler to be registered."),
    (Kind::Gauge, HELD_BACK, "Events in hand that wait for an earlier one of their key."),
    (Kind::Gauge, CALLS, "Calls that are in hand."),
    (Kind::Counter, EXPIRED, "Calls whose time was over before a handler was free."),
    (Kind::Counter, LOST, "Answers that did not reach their callers."),
    (Kind::Gauge, BOUND, "Whether the broker delivers, 1 or 0."),
];

/// Tells the recorder of the [`metrics`](::metrics) facade what each metric of the SDK means, and its unit.
/// Done whenever a broker is built; to be called by a service that installs its recorder later than that.
pub fn describe_metrics() {
    with_recorder(|recorder| {
        for (kind, name, description) in ALL {
            let (name, description) = (name.into(), description.into());
            match kind {
                Kind::Counter => recorder.describe_counter(name, Some(Unit::Count), description),
                Kind::Gauge => recorder.describe_gauge(name, Some(Unit::Count), description),
                Kind::Histogram => {
                    recorder.describe_histogram(name, Some(Unit::Seconds), description);
                }
            }
        }
    });
}

/// Attributes that metrics have in common.
#[derive(Clone)]
pub(super) struct Attributes(Vec<Label>);

impl Attributes {
    pub(super) fn of(system: &'static str) -> Self {
        Self(vec![Label::from_static_parts("messaging.system", system)])
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(match value.into() {
            Cow::Borrowed(value) => Label::from_static_parts(name, value),
            Cow::Owned(value) => Label::new(name, value),
        });
        self
    }

    /// What is done, and its type: `send`, `receive` or `process`.
    pub(super) fn operation(self, name: &'static str, kind: &'static str) -> Self {
        self.with("messaging.operation.name", name).with("messaging.operation.type", kind)
    }

    pub(super) fn destination(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.with("messaging.destination.name", name)
    }

    pub(super) fn metric(&self, name: &'static str) -> Metric {
        Key::from_parts(name, self.0.clone())
    }
}

const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

pub(super) fn count(metric: &Metric) {
    with_recorder(|recorder| recorder.register_counter(metric, &METADATA).increment(1));
}

/// Counts what ended well, or for this reason did not.
pub(super) fn count_end(metric: &Metric, error: Option<&'static str>) {
    ended(metric, error, count);
}

/// How long something took that ended well, or for this reason did not.
pub(super) fn time_end(metric: &Metric, took: Duration, error: Option<&'static str>) {
    ended(metric, error, |metric| {
        let seconds = took.as_secs_f64();
        with_recorder(|recorder| recorder.register_histogram(metric, &METADATA).record(seconds));
    });
}

pub(super) fn gauge(metric: &Metric, value: f64) {
    with_recorder(|recorder| recorder.register_gauge(metric, &METADATA).set(value));
}

/// Whether the broker delivers.
pub(crate) fn tell_bound(metric: &Metric, bound: bool) {
    gauge(metric, f64::from(u8::from(bound)));
}

fn ended(metric: &Metric, error: Option<&'static str>, tell: impl FnOnce(&Metric)) {
    match error {
        None => tell(metric),
        Some(error) => tell(&with(metric, "error.type", error)),
    }
}

/// The metric with one attribute more.
pub(super) fn with(metric: &Metric, name: &'static str, value: &'static str) -> Metric {
    metric.with_extra_labels(vec![Label::from_static_parts(name, value)])
}
