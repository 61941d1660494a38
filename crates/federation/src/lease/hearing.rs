use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use mesh_core::guard::Now;
use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{DEFAULT_MAX_BYTES, MxPath, Topic};
use mesh_core::port::{ErrorKind, SubscribeOptions, TransportError};
use tokio::sync::OnceCell;

use super::counts::add;
use super::inner::Inner;
use super::{EndReason, LeaseId, LeaseTable};
use crate::local::{Heard, Listening, Task};

/// The sources that are listened to: one subscription each, shared by the source's leases.
#[derive(Default)]
pub(super) struct Hearings(HashMap<String, Hearing>);

struct Hearing {
    task: Arc<OnceCell<Task>>,
    /// How many are about to have a lease of it.
    opening: usize,
}

impl Hearings {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Stops listening to `source` where no lease of it is kept here, or about to be.
    pub(super) fn tidy(&mut self, source: &MxPath<'_>, table: &LeaseTable) {
        let idle = |hearing: &Hearing| hearing.opening == 0 && !table.is_kept(source);
        if self.0.get(source.as_str()).is_some_and(idle) {
            self.0.remove(source.as_str());
        }
    }

    /// The same for all sources.
    pub(super) fn tidy_all(&mut self, table: &LeaseTable) {
        self.0.retain(|source, hearing| hearing.opening > 0 || table.is_kept(source));
    }

    pub(super) fn stop(&mut self) {
        self.0.clear();
    }
}

/// Holds a source open until its lease is in the table.
pub(super) struct Opening {
    inner: Arc<Inner>,
    source: MxPath<'static>,
}

impl Drop for Opening {
    fn drop(&mut self) {
        let mut state = self.inner.state.lock();
        let state = &mut *state;
        if let Some(hearing) = state.hearings.0.get_mut(self.source.as_str()) {
            hearing.opening = hearing.opening.saturating_sub(1);
        }
        state.hearings.tidy(&self.source, &state.table);
    }
}

impl Inner {
    /// Listens to `source`, if nobody here does yet: once this has returned, whatever is emitted there is
    /// heard.
    pub(super) async fn open(
        self: &Arc<Self>,
        source: &MxPath<'static>,
    ) -> Result<Opening, TransportError> {
        let task = {
            let mut state = self.state.lock();
            let new = || Hearing { task: Arc::default(), opening: 0 };
            let hearing = state.hearings.0.entry(source.to_string()).or_insert_with(new);
            hearing.opening += 1;
            Arc::clone(&hearing.task)
        };
        let opening = Opening { inner: Arc::clone(self), source: source.clone() };
        task.get_or_try_init(|| self.listen(source)).await?;
        Ok(opening)
    }

    async fn listen(self: &Arc<Self>, source: &MxPath<'static>) -> Result<Task, TransportError> {
        let invalid = |error: mesh_core::mx::TopicError| {
            TransportError::new(ErrorKind::Invalid, mesh_core::port::Operation::Subscribe)
                .detail(error.to_string())
        };
        let topic = Topic::internal(&self.realm, source).map_err(invalid)?;
        let options = SubscribeOptions { buffer: self.buffer, ..SubscribeOptions::default() };
        let listening = Listening::open(self.local.clone(), topic.into(), options).await?;
        Ok(Task::spawn(Arc::clone(self).hear(source.clone(), listening)))
    }

    async fn hear(self: Arc<Self>, source: MxPath<'static>, mut listening: Listening) {
        loop {
            match listening.next().await {
                Heard::Message(message) => self.forward(&source, &message),
                Heard::Gap(lost) => self.gap(&source, lost.unwrap_or(0)),
                Heard::Back => self.gap(&source, 0),
                Heard::Away(error) => {
                    tracing::warn!(%source, %error, "a source is not heard");
                    if error.kind() == ErrorKind::Denied {
                        // It ends this task as well, with the last of the leases.
                        self.source_gone(&source).await;
                    }
                }
                Heard::Closed => return,
            }
        }
    }

    /// Brings an event to all sinks of the source.
    fn forward(&self, source: &MxPath<'static>, message: &Message) {
        let now = Now::of(&*self.clock);
        let body = RawJson::from_slice(message.payload(), DEFAULT_MAX_BYTES);
        let body = body.ok().filter(|body| body.fits_inside(1)).map(RawJson::into_owned);
        let trace_id = trace_id(message);
        let event = body.map(|body| self.outboxes.happened(source, body, trace_id));
        let state = self.state.lock();
        let sinks = state.table.sinks(source, now);
        let (lost, events) = match event {
            // Another may forward it by now.
            _ if !self.may_forward(now) => (&self.counts.withheld, 0),
            Some(Some(event)) => return self.outboxes.send(&event, sinks),
            Some(None) => (&self.counts.queue_full, 1),
            None => (&self.counts.unusable, 1),
        };
        add(lost, 1);
        self.outboxes.missed(source, events, sinks);
    }

    /// Events were missed, or may have been.
    pub(super) fn gap(&self, source: &MxPath<'static>, lost: u64) {
        add(&self.counts.gaps, 1);
        let now = Now::of(&*self.clock);
        let state = self.state.lock();
        self.outboxes.missed(source, lost, state.table.sinks(source, now));
    }

    async fn source_gone(self: &Arc<Self>, source: &MxPath<'static>) {
        let now = Now::of(&*self.clock);
        let kept: Vec<LeaseId> =
            self.state.lock().table.sinks(source, now).map(|sink| sink.id).collect();
        for id in kept {
            self.end(id, EndReason::SourceGone).await;
        }
    }
}

/// The trace that an event belongs to, where whoever emitted it says so in `traceparent`.
fn trace_id(message: &Message) -> Option<String> {
    let parent = message.headers().value("traceparent")?;
    let id = parent.split('-').nth(1)?;
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}

/// How many events of a source may wait to be looked at, unless told.
pub(super) const BUFFER: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4_095);
