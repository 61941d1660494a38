//! What is shown of a gateway to whoever records metrics. What it has counted is told now and then, as
//! totals, so that a message costs nothing for it; only how long requests take is told one by one.
//!
//! No attribute is a stranger's text: no other realm, no path.

use std::time::Duration;

use metrics::{Key, Label, Level, Metadata, SharedString, Unit, with_recorder};

use super::EdgeStatus;

const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

const DURATION: &str = "mesh.federation.request.duration";
const PASSED: &str = "mesh.federation.guard.passed";
const REFUSED: &str = "mesh.federation.guard.refused";
const SHADOW: &str = "mesh.federation.guard.shadow_refused";
const LOST: &str = "mesh.federation.lost";
const LISTENING: &str = "mesh.federation.listening";
const PENDING: &str = "mesh.federation.pending";
const WAITING: &str = "mesh.federation.waiting";

/// The metrics of one gateway.
#[derive(Debug)]
pub(super) struct Observer {
    /// The messaging system of the backbone, and the gateway's own realm.
    labels: Vec<Label>,
    duration: Key,
}

impl Observer {
    pub(super) fn new(system: &'static str, realm: &str) -> Self {
        let labels = vec![
            Label::from_static_parts("messaging.system", system),
            Label::new("mx.realm", realm.to_owned()),
        ];
        describe();
        Self { duration: Key::from_parts(DURATION, labels.clone()), labels }
    }

    /// How long a component had until its reply.
    pub(super) fn replied(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let tell = |recorder: &dyn metrics::Recorder| {
            recorder.register_histogram(&self.duration, &METADATA).record(seconds);
        };
        with_recorder(tell);
    }

    /// Tells all that was counted so far, and how it is now.
    pub(super) fn tell(&self, status: &EdgeStatus) {
        for (name, total) in status.counters.iter() {
            self.total(format!("mesh.federation.{name}"), None, total);
        }
        for guard in &status.guards.guards {
            let label = Some(Label::from_static_parts("mx.guard", guard.guard));
            self.total(PASSED, label.clone(), guard.passed);
            self.total(REFUSED, label.clone(), guard.refused);
            self.total(SHADOW, label, guard.shadow_refused);
        }
        for ear in &status.ears {
            let label = Label::new("messaging.destination.name", ear.filter.to_string());
            self.total(LOST, Some(label.clone()), ear.lost);
            self.level(LISTENING, Some(label), f64::from(u8::from(ear.listening)));
        }
        self.level(PENDING, None, count(status.pending));
        self.level(WAITING, None, count(status.waiting));
    }

    fn total(&self, name: impl Into<SharedString>, label: Option<Label>, total: u64) {
        let key = self.key(name, label);
        with_recorder(|recorder| recorder.register_counter(&key, &METADATA).absolute(total));
    }

    fn level(&self, name: &'static str, label: Option<Label>, level: f64) {
        let key = self.key(name, label);
        with_recorder(|recorder| recorder.register_gauge(&key, &METADATA).set(level));
    }

    fn key(&self, name: impl Into<SharedString>, label: Option<Label>) -> Key {
        let labels: Vec<_> = self.labels.iter().cloned().chain(label).collect();
        Key::from_parts(name.into(), labels)
    }
}

fn describe() {
    with_recorder(|recorder| {
        let seconds = Some(Unit::Seconds);
        recorder.describe_histogram(DURATION.into(), seconds, "Until a component's reply.".into());
        let totals = [
            (PASSED, "Messages that a guard let go on."),
            (REFUSED, "Messages that a guard refused."),
            (SHADOW, "Messages that a guard in shadow would have refused."),
            (LOST, "Messages that were lost since they were read too slowly."),
        ];
        for (name, words) in totals {
            recorder.describe_counter(name.into(), Some(Unit::Count), words.into());
        }
        let levels = [
            (LISTENING, "Whether a subscription hears, 1 or 0."),
            (PENDING, "Requests that wait for a component's reply."),
            (WAITING, "Messages that wait for a guard."),
        ];
        for (name, words) in levels {
            recorder.describe_gauge(name.into(), Some(Unit::Count), words.into());
        }
    });
}

/// A number of things as a gauge takes it; past what 32 bits hold, that.
fn count(number: usize) -> f64 {
    u32::try_from(number).unwrap_or(u32::MAX).into()
}
