//! Watches that the gateway keeps for its operator, who reads their lines on a path that nobody can guess.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{EdgeCode, Fault, MxPath};
use mesh_core::port::Clock;
use mesh_federation::{Call, ComponentHost, RealmClient, Seen, Watch, WatchEnd};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::super::runtime::words;
use super::{Answer, Failed, answer, body};

/// For how long a watch is kept without a word from who watches; they give one three times in that time.
pub(crate) const KEEP: Duration = Duration::from_secs(30);
/// How many there may be.
const MOST: usize = 64;

/// Who watches what, and where.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Watching {
    pub(crate) uri: String,
    pub(crate) to: String,
}

/// Which watch.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct To {
    pub(crate) to: String,
}

/// What is told on the path.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Line {
    Event(Box<RawValue>),
    /// That many at least; 0, where nobody knows.
    Missed(u64),
    /// Why nothing more comes.
    Ended(String),
}

/// A line and its place among those of its watch, from 1.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) number: u64,
    pub(crate) line: Line,
}

/// Where the lines of a watch come.
pub(crate) fn path_of(to: &str) -> Option<MxPath<'static>> {
    let is_id =
        to.len() == 32 && to.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    is_id.then(|| MxPath::new(format!("watch.{to}.emits.line")).ok()).flatten()
}

/// All of them.
pub(crate) struct Watches {
    client: RealmClient,
    host: ComponentHost,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Until when, on the monotonic clock; `None` ends it at once.
    until: HashMap<String, watch::Sender<Option<Duration>>>,
    tasks: JoinSet<()>,
}

impl Watches {
    pub(crate) fn new(client: RealmClient, host: ComponentHost) -> Arc<Self> {
        Arc::new(Self { client, host, kept: Mutex::default() })
    }

    pub(super) async fn begin(self: &Arc<Self>, call: &Call) -> Answer {
        let asked: Watching = body(call)?;
        let bad = |why: &'static str| Fault::edge(EdgeCode::BadRequest, why);
        let path = path_of(&asked.to).ok_or_else(|| bad("`to` is 32 hex digits"))?;
        let until = watch::Sender::new(Some(self.soon()));
        let kept = until.subscribe();
        {
            let mut all = self.kept.lock();
            if all.until.len() >= MOST {
                return Err(Fault::edge(EdgeCode::RateLimited, "as many watches as there may be"));
            }
            if all.until.contains_key(&asked.to) {
                return Err(bad("this is watched already"));
            }
            all.until.insert(asked.to.clone(), until);
        }
        // Whatever comes of it, its place is given back.
        let place = Place { watches: Arc::clone(self), to: asked.to };
        let watch = match self.client.watch(&asked.uri).await {
            Ok(watch) => watch,
            Err(error) => return answer(&WatchBegun { failed: Some(Failed::of(&error)) }),
        };
        let relay = Arc::clone(self).relay(watch, path, kept, place);
        let mut all = self.kept.lock();
        while all.tasks.try_join_next().is_some() {}
        all.tasks.spawn(relay);
        drop(all);
        answer(&WatchBegun { failed: None })
    }

    pub(super) fn keep(&self, call: &Call) -> Answer {
        let asked: To = body(call)?;
        let all = self.kept.lock();
        let known = all.until.get(&asked.to).map(|until| until.send_replace(Some(self.soon())));
        answer(&Known { known: known.is_some() })
    }

    pub(super) fn end(&self, call: &Call) -> Answer {
        let asked: To = body(call)?;
        let known = self.kept.lock().until.get(&asked.to).map(|until| until.send_replace(None));
        answer(&Known { known: known.is_some() })
    }

    /// Returns when all have told their last line, or after `timeout`: their client has ended them.
    pub(crate) async fn finish(&self, timeout: Duration) {
        let mut tasks = std::mem::take(&mut self.kept.lock().tasks);
        let all = async { while tasks.join_next().await.is_some() {} };
        let clock = self.clock();
        tokio::select! {
            () = all => {}
            () = clock.sleep(timeout) => {}
        }
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        self.host.local().clock()
    }

    fn soon(&self) -> Duration {
        self.clock().monotonic().saturating_add(KEEP)
    }

    /// Tells what is seen, until the watch has ended or nobody wants it any more.
    async fn relay(
        self: Arc<Self>,
        mut watch: Watch,
        path: MxPath<'static>,
        kept: watch::Receiver<Option<Duration>>,
        place: Place,
    ) {
        let _place = place;
        let mut number = 0;
        loop {
            let seen = tokio::select! {
                seen = watch.next() => seen,
                () = self.left(kept.clone()) => return watch.stop().await,
            };
            let (line, ended) = match seen {
                Seen::Event(body) => match RawValue::from_string(body.as_str().to_owned()) {
                    Ok(body) => (Line::Event(body), false),
                    Err(_) => (Line::Missed(1), false),
                },
                Seen::Missed { at_least } => (Line::Missed(at_least), false),
                Seen::Ended(end) => (Line::Ended(why(&end)), true),
            };
            number += 1;
            let told = RawJson::from_serialize(&Told { number, line });
            // Whoever reads finds a number missing.
            let said = match &told {
                Ok(told) => self.host.emit(&path, told).await.err().map(|error| words(&error)),
                Err(error) => Some(error.to_string()),
            };
            if let Some(error) = said {
                tracing::warn!(error, "a line of a watch was not told");
            }
            if ended {
                return;
            }
        }
    }

    /// Returns when nobody has said for a while that they still watch.
    async fn left(&self, mut kept: watch::Receiver<Option<Duration>>) {
        loop {
            let Some(until) = *kept.borrow_and_update() else { return };
            let now = self.clock().monotonic();
            if now >= until {
                return;
            }
            tokio::select! {
                () = self.clock().sleep(until.saturating_sub(now)) => {}
                changed = kept.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// The place of one watch among all.
struct Place {
    watches: Arc<Watches>,
    to: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.watches.kept.lock().until.remove(&self.to);
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WatchBegun {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<Failed>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) known: bool,
}

fn why(end: &WatchEnd) -> String {
    match end {
        WatchEnd::Stopped => "the gateway ends".to_owned(),
        WatchEnd::BusClosed => "the realm's bus was closed".to_owned(),
        WatchEnd::Refused(error) => format!("refused: {}", words(&**error)),
        WatchEnd::Lost(error) => format!("the lease was lost: {}", words(&**error)),
        _ => "it ended".to_owned(),
    }
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watches")
            .field("kept", &self.kept.lock().until.len())
            .finish_non_exhaustive()
    }
}
