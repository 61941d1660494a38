//! The subscriptions of a gateway: mended when they end, and what they miss is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::Stream;
use futures_util::stream::unfold;
use mesh_core::message::Message;
use mesh_core::port::{Connection, SubscribeOptions, TransportError};
use mesh_core::subject::Filter;
use parking_lot::Mutex;

use crate::Answers;
use crate::local::{Heard, Listening};

/// What a gateway listens to, and how that goes.
#[derive(Debug)]
pub(super) struct EarState {
    filter: Filter,
    on: On,
    /// Told of what is missed here.
    answers: Option<Answers>,
    listening: AtomicBool,
    heard: AtomicU64,
    lost: AtomicU64,
    interrupted: AtomicU64,
    ended: AtomicU64,
    why: Mutex<Option<TransportError>>,
}

/// On which of its two connections a gateway listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum On {
    /// What realms share.
    Backbone,
    /// The realm's own bus.
    Local,
}

/// How one subscription of a gateway is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EarStatus {
    /// What it listens to.
    pub filter: Filter,
    /// On which connection.
    pub on: On,
    /// Whether it does now. Where not, it is being made anew, unless the connection was closed.
    pub listening: bool,
    /// Messages that it brought.
    pub heard: u64,
    /// Messages that were lost since it was read too slowly, or that could not be represented.
    pub lost: u64,
    /// How often its connection was away for a while: messages may have been missed.
    pub interrupted: u64,
    /// How often it ended against the gateway's will, or could not be made anew.
    pub ended: u64,
    /// Why, the last time.
    pub why: Option<TransportError>,
}

impl EarState {
    pub(super) fn new(filter: Filter, on: On, answers: Option<Answers>) -> Arc<Self> {
        let (heard, lost, interrupted, ended) =
            (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let (listening, why) = (AtomicBool::new(false), Mutex::new(None));
        Arc::new(Self { filter, on, answers, listening, heard, lost, interrupted, ended, why })
    }

    pub(super) fn is_listening(&self) -> bool {
        self.listening.load(Ordering::Acquire)
    }

    pub(super) fn status(&self) -> EarStatus {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        EarStatus {
            filter: self.filter.clone(),
            on: self.on,
            listening: self.is_listening(),
            heard: count(&self.heard),
            lost: count(&self.lost),
            interrupted: count(&self.interrupted),
            ended: count(&self.ended),
            why: self.why.lock().clone(),
        }
    }

    fn heed(&self, heard: Heard) -> Option<Message> {
        let filter = &self.filter;
        if let (Heard::Gap(_) | Heard::Back, Some(answers)) = (&heard, &self.answers) {
            answers.missed();
        }
        match heard {
            Heard::Message(message) => {
                self.heard.fetch_add(1, Ordering::Relaxed);
                return Some(message);
            }
            Heard::Gap(Some(lost)) => {
                self.lost.fetch_add(lost, Ordering::Relaxed);
                tracing::warn!(%filter, lost, "the gateway is too slow: messages were lost");
            }
            Heard::Gap(None) => {
                self.interrupted.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%filter, "interrupted: messages may have been missed");
            }
            Heard::Away(error) => {
                self.listening.store(false, Ordering::Release);
                self.ended.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%filter, %error, "the gateway does not hear it for now");
                *self.why.lock() = Some(error);
            }
            Heard::Back => {
                self.listening.store(true, Ordering::Release);
                tracing::info!(%filter, "the gateway hears it again");
            }
            Heard::Closed => self.listening.store(false, Ordering::Release),
        }
        None
    }

    /// Listens from when this returns. The messages end when the connection is closed.
    pub(super) async fn open(
        self: Arc<Self>,
        connection: Connection,
        options: SubscribeOptions,
    ) -> Result<impl Stream<Item = Message> + Send + use<>, TransportError> {
        let filter = self.filter.clone();
        let listening = Listening::open(connection, filter, options).await?;
        self.listening.store(true, Ordering::Release);
        let ear = Ear { state: self, listening };
        Ok(unfold(ear, |mut ear| async {
            loop {
                let heard = ear.listening.next().await;
                let is_over = matches!(heard, Heard::Closed);
                match ear.state.heed(heard) {
                    Some(message) => return Some((message, ear)),
                    None if is_over => return None,
                    None => {}
                }
            }
        }))
    }
}

/// An open subscription; gone, it does not listen.
struct Ear {
    state: Arc<EarState>,
    listening: Listening,
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.state.listening.store(false, Ordering::Release);
    }
}
