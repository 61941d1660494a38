//! Another realm's events: a lease that is kept, and what comes of it.

mod keeper;
mod lease;
mod open;

use std::fmt;
use std::sync::Arc;

use mesh_core::json::RawJson;
use mesh_core::mx::{DEFAULT_MAX_BYTES, MxUri};
use tokio::sync::watch;

use super::RemoteError;
use crate::local::{Heard, Listening};

/// The events of one source in another realm, from [`RealmClient::watch`](super::RealmClient::watch).
///
/// Behind it is a lease of that realm (protocol §8, "Leases"), which is refreshed at a third of its life.
/// Where the other realm says that the lease has ended, or no longer knows it, or does not answer until it
/// is over, it is asked for anew, for as long as the client's `patience` lasts. Events that were or may
/// have been missed are told as [`Seen::Missed`], and the end with its reason as [`Seen::Ended`].
///
/// The events go to a path of this realm that nobody can guess, `watch.<32 hex digits>.emits.event`: who
/// does not know it can write none.
///
/// Dropped, it ends the lease in a task of its own; [`stop`](Self::stop) waits for that.
#[must_use = "dropped, it watches no more"]
pub struct Watch {
    uri: MxUri<'static>,
    events: Listening,
    news: watch::Receiver<News>,
    told: Told,
    /// Dropped, it stops as well.
    stop: watch::Sender<bool>,
    ended: Option<WatchEnd>,
}

/// What a [`Watch`] sees next.
#[derive(Debug, Clone)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a reader heeds each")]
pub enum Seen {
    /// An event: its exact body.
    Event(RawJson<'static>),
    /// Events are missing somewhere since the last thing that was told, or may be. More will come.
    Missed {
        /// At least this many; 0 where nobody knows whether there were any.
        at_least: u64,
    },
    /// Nothing more will come. Told again each time.
    Ended(WatchEnd),
}

/// Why a watch has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum WatchEnd {
    /// It was stopped, or its client closed.
    Stopped,
    /// The local bus was closed.
    BusClosed,
    /// The other realm, or our own backbone, does not let us.
    Refused(Arc<RemoteError>),
    /// The lease was lost, and was not given anew for as long as the client's patience lasts; this was
    /// the last reason.
    Lost(Arc<RemoteError>),
}

/// What the keeper of the lease tells. Counts only grow, so that a late reader misses nothing.
#[derive(Debug, Clone, Default)]
struct News {
    /// How often events were or may have been missed.
    gaps: u64,
    /// How many at least.
    missed: u64,
    held: bool,
    ended: Option<WatchEnd>,
}

/// What of the [`News`] was told.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    gaps: u64,
    missed: u64,
}

impl Watch {
    /// What is watched.
    #[must_use]
    pub fn uri(&self) -> &MxUri<'static> {
        &self.uri
    }

    /// Whether the other realm sends its events now, as far as is known.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.news.borrow().held
    }

    /// What is seen next. Nothing is missed when this is dropped before it returns.
    pub async fn next(&mut self) -> Seen {
        loop {
            if let Some(end) = &self.ended {
                return Seen::Ended(end.clone());
            }
            tokio::select! {
                biased;
                // First what has come: the end is told after it.
                heard = self.events.next() => match heard {
                    Heard::Message(message) => {
                        let body = RawJson::from_slice(message.payload(), DEFAULT_MAX_BYTES);
                        return match body {
                            Ok(body) => Seen::Event(body.into_owned()),
                            // A gateway says JSON; whatever this is, it is no event.
                            Err(_) => Seen::Missed { at_least: 1 },
                        };
                    }
                    Heard::Gap(lost) => return Seen::Missed { at_least: lost.unwrap_or_default() },
                    Heard::Back => return Seen::Missed { at_least: 0 },
                    Heard::Away(error) => {
                        tracing::warn!(uri = %self.uri, %error, "watched events are not heard");
                    }
                    Heard::Closed => self.ended = Some(WatchEnd::BusClosed),
                },
                seen = untold(&mut self.news, &mut self.told) => match seen {
                    Seen::Ended(end) => self.ended = Some(end),
                    seen => return seen,
                },
            }
        }
    }

    /// Ends the lease, and returns when the other realm has said so or the client's deadline is over.
    /// What is still seen afterwards came before.
    pub async fn stop(&mut self) {
        self.stop.send_replace(true);
        // An error says that it has ended.
        let _ = self.news.wait_for(|news| news.ended.is_some()).await;
    }
}

/// What a keeper's news are worth, beyond what was told: a gap, or the end.
async fn untold(news: &mut watch::Receiver<News>, told: &mut Told) -> Seen {
    let changed = |news: &News| news.gaps > told.gaps || news.ended.is_some();
    let Ok(news) = news.wait_for(changed).await else {
        // The keeper can't end without having said why, save with the runtime.
        return Seen::Ended(WatchEnd::Stopped);
    };
    if news.gaps > told.gaps {
        let at_least = news.missed - told.missed;
        *told = Told { gaps: news.gaps, missed: news.missed };
        return Seen::Missed { at_least };
    }
    Seen::Ended(news.ended.clone().unwrap_or(WatchEnd::Stopped))
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("uri", &self.uri)
            .field("held", &self.is_held())
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
