//! What one test logs. There is one subscriber for all tests, which goes by the thread: whether a place in
//! the code is of interest is remembered once for all threads, so a subscriber of one thread would miss
//! what another came by first.

use std::cell::RefCell;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

thread_local! {
    static LOG: RefCell<Option<Log>> = const { RefCell::new(None) };
}

/// The spans and warnings of this crate on this thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    /// Each with its fields; its name is one, too.
    pub(super) spans: Vec<Fields>,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Fields(pub(super) Vec<(&'static str, String)>);

impl Log {
    /// From here on this thread's are kept.
    pub(super) fn begin() {
        // It stays when another test has set it.
        let _ = tracing::subscriber::set_global_default(ByThread);
        LOG.set(Some(Self::default()));
    }

    /// What there is by now.
    pub(super) fn read() -> Self {
        LOG.with_borrow(|log| log.clone().unwrap_or_default())
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }
}

struct ByThread;

fn with<T>(work: impl FnOnce(&mut Log) -> T) -> Option<T> {
    LOG.with_borrow_mut(|log| log.as_mut().map(work))
}

impl Subscriber for ByThread {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> tracing::subscriber::Interest {
        tracing::subscriber::Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let kept = metadata.is_span() || *metadata.level() <= Level::WARN;
        kept && metadata.target().starts_with("mesh_sdk") && with(|_| ()).is_some()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields(vec![("span", span.metadata().name().to_owned())]);
        span.record(&mut fields);
        let number = with(|log| {
            log.spans.push(fields);
            log.spans.len()
        });
        Id::from_u64(number.unwrap_or(1) as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let at = usize::try_from(span.into_u64()).unwrap() - 1;
        with(|log| log.spans.get_mut(at).map(|fields| values.record(fields)));
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let message = fields.0.into_iter().find(|(name, _)| *name == "message");
        with(|log| log.warnings.extend(message.map(|(_, line)| line)));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
