use std::future::Future;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{EdgeCode, Fault, InternalRequest, LegacyReply, MxPath, Topic};
use mesh_core::name::RealmName;
use mesh_core::port::{Clock, Connection, ErrorKind, PublishOptions, TransportError};
use mesh_core::subject::Subject;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::registration::{Counts, add};
use super::{Call, Handler, Heard, Listening};

/// One command of a component, and what is needed to handle and answer its calls.
pub(super) struct Serving {
    pub(super) connection: Connection,
    pub(super) realm: RealmName,
    pub(super) path: MxPath<'static>,
    pub(super) time: Duration,
    pub(super) max_bytes: usize,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) counts: Arc<Counts>,
}

/// Handles what is heard, until it is told to stop by some time, or the connection is closed.
pub(super) async fn serve(
    serving: Arc<Serving>,
    mut listening: Listening,
    concurrency: NonZeroUsize,
    mut stop: oneshot::Receiver<Duration>,
) {
    let mut running = JoinSet::new();
    let until = loop {
        let room = running.len() < concurrency.get();
        tokio::select! {
            biased;
            until = &mut stop => break until.ok(),
            Some(_) = running.join_next() => {}
            heard = listening.next(), if room => match heard {
                Heard::Message(message) => {
                    running.spawn(Arc::clone(&serving).call(message));
                }
                Heard::Closed => break None,
                other => serving.told(&other),
            },
        }
    };
    serving.counts.listening.store(false, Ordering::Relaxed);
    drop(listening);
    let clock = Arc::clone(serving.connection.clock());
    let all = async { while running.join_next().await.is_some() {} };
    // Without a time the connection is gone, and no answer can be sent.
    let span = until.map_or(Duration::ZERO, |until| until.saturating_sub(clock.monotonic()));
    limited(&*clock, span, all).await;
    running.shutdown().await;
}

impl Serving {
    /// Something happened in place of a call.
    fn told(&self, heard: &Heard) {
        let counts = &self.counts;
        match heard {
            Heard::Gap(Some(lost)) => {
                add(&counts.lost, *lost);
                tracing::warn!(path = %self.path, lost, "calls of a component were lost");
            }
            Heard::Gap(None) => add(&counts.interrupted, 1),
            Heard::Away(error) => {
                counts.listening.store(false, Ordering::Relaxed);
                add(&counts.interrupted, 1);
                tracing::warn!(path = %self.path, %error, "a component's calls are not heard");
            }
            Heard::Back => counts.listening.store(true, Ordering::Relaxed),
            Heard::Message(_) | Heard::Closed => {}
        }
    }

    async fn call(self: Arc<Self>, message: Message) {
        let counts = &*self.counts;
        let request = match InternalRequest::decode(message.payload(), self.max_bytes) {
            Ok(request) => request,
            Err(error) => {
                add(&counts.undecodable, 1);
                tracing::debug!(path = %self.path, %error, "what is no request was passed over");
                return;
            }
        };
        let reply_to = request.reply_to.clone();
        if !self.is_ours(&reply_to) {
            add(&counts.foreign_reply, 1);
            tracing::warn!(path = %self.path, %reply_to, "a request was to be answered elsewhere");
            return;
        }
        let running = Running::begin(counts);
        let call = Call::of(&self.path, request);
        let id = call.correlation_id.clone();
        let outcome = self.handle(call).await;
        self.answer(reply_to, &id, &outcome).await;
        running.finish();
    }

    fn is_ours(&self, reply_to: &Subject) -> bool {
        let topic = reply_to.as_str().parse();
        matches!(topic, Ok(Topic::InternalReply(realm, _)) if realm == self.realm)
    }

    async fn handle(&self, call: Call) -> Result<RawJson<'static>, Fault<'static>> {
        let counts = &*self.counts;
        let work = AssertUnwindSafe(async { self.handler.handle(call).await }).catch_unwind();
        match limited(&**self.connection.clock(), self.time, work).await {
            Some(Ok(Ok(body))) => {
                add(&counts.answered, 1);
                Ok(body)
            }
            Some(Ok(Err(fault))) => {
                add(&counts.refused, 1);
                Err(fault)
            }
            Some(Err(_)) => {
                add(&counts.panicked, 1);
                // The runtime's hook has shown what it said: that may hold anything.
                tracing::error!(path = %self.path, "a component's handler panicked");
                Err(Fault::edge(EdgeCode::HandlerError, "the handler panicked"))
            }
            None => {
                add(&counts.overdue, 1);
                tracing::warn!(path = %self.path, "a component's handler took too long");
                Err(Fault::edge(EdgeCode::HandlerError, "the handler took too long"))
            }
        }
    }

    async fn answer(
        &self,
        to: Subject,
        id: &str,
        outcome: &Result<RawJson<'static>, Fault<'static>>,
    ) {
        let sent = match self.send(to.clone(), id, outcome).await {
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                let fault = Fault::edge(EdgeCode::HandlerError, "the answer is too large");
                self.send(to, id, &Err(fault)).await
            }
            sent => sent,
        };
        if let Err(error) = sent {
            add(&self.counts.unanswered, 1);
            tracing::warn!(path = %self.path, %error, "an answer of a component was not sent");
        }
    }

    async fn send(
        &self,
        to: Subject,
        id: &str,
        outcome: &Result<RawJson<'static>, Fault<'static>>,
    ) -> Result<(), TransportError> {
        // The strict reply inside a realm has the fields of a legacy one.
        let mut reply = LegacyReply::new(id, outcome.is_ok());
        match outcome {
            Ok(body) => reply.body = Some(body.borrowed()),
            Err(fault) => reply.error = Some(fault.clone()),
        }
        let message = Message::new(to, reply.encode());
        self.connection.transport().publish(message, PublishOptions::default()).await
    }
}

/// Counts a call as running, and as given up unless it finishes.
struct Running<'c> {
    counts: &'c Counts,
    finished: bool,
}

impl<'c> Running<'c> {
    fn begin(counts: &'c Counts) -> Self {
        add(&counts.running, 1);
        Self { counts, finished: false }
    }

    fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let less: &AtomicU64 = &self.counts.running;
        less.fetch_sub(1, Ordering::Relaxed);
        if !self.finished {
            add(&self.counts.given_up, 1);
        }
    }
}

/// What `work` gives, if it does so within `span`; else it is dropped.
pub(crate) async fn limited<F: Future + Send>(
    clock: &dyn Clock,
    span: Duration,
    work: F,
) -> Option<F::Output> {
    tokio::select! {
        biased;
        done = work => Some(done),
        // Begun only where the work has to wait.
        () = async { clock.sleep(span).await } => None,
    }
}
