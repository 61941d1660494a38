use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{MxPath, MxUri};
use mesh_core::port::{Clock, ConnectionState, ConnectionStates};
use mesh_core::time::Backoff;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::super::{CallOptions, RealmClient, RemoteError};
use super::lease::{self, Lease, Notice};
use super::{News, WatchEnd};
use crate::answers::Sink;
use crate::local::{Heard, Listening};

/// How long to wait before a lost lease is asked for again.
const PAUSES: Backoff = Backoff { min: Duration::from_millis(500), max: Duration::from_secs(30) };

/// Keeps one lease for a [`Watch`](super::Watch), until that is dropped or stopped.
pub(super) struct Keeper {
    pub(super) asker: Asker,
    pub(super) notices: Listening,
    pub(super) stop: Stop,
    pub(super) news: watch::Sender<News>,
    /// Tells what our own gateway does not let in.
    pub(super) _sink: Sink,
}

/// Who asks for the lease.
pub(super) struct Asker {
    pub(super) client: RealmClient,
    pub(super) uri: MxUri<'static>,
    /// Where the events go.
    pub(super) sink: MxPath<'static>,
    /// How long a lease is asked for.
    pub(super) life: Duration,
}

/// What tells that the watch is over.
pub(super) struct Stop {
    /// Of the watch, which may be gone.
    pub(super) watch: watch::Receiver<bool>,
    /// Of the client.
    pub(super) client: watch::Receiver<bool>,
}

impl Stop {
    async fn told(&mut self) {
        // An error says that the other end is gone.
        tokio::select! {
            _ = self.watch.wait_for(|stop| *stop) => {}
            _ = self.client.wait_for(|stop| *stop) => {}
        }
    }
}

/// What ends the wait for the next refresh.
enum Woken {
    Due,
    Told(Notice),
    Stop,
    BusClosed,
}

/// How the lease stands.
enum Standing {
    /// It is to be refreshed at this time.
    Held { lease: Lease, refresh: Duration },
    /// It was lost at this time and this often asked for since; it is asked for again at that time.
    Lost { since: Duration, attempt: u32, again: Duration },
}

impl Standing {
    fn of(lease: Lease) -> Self {
        let refresh = lease.asked.saturating_add(lease.life / 3);
        Self::Held { lease, refresh }
    }
}

impl Keeper {
    /// Keeps `lease` to the end, and tells what becomes of the backbone meanwhile. The place among the
    /// client's watches is given back after it.
    pub(super) async fn keep(
        mut self,
        lease: Lease,
        backbone: ConnectionStates,
        place: OwnedSemaphorePermit,
    ) {
        let mailboxes = self.asker.client.answers().gaps();
        let gaps = gaps(backbone, mailboxes, self.news.clone());
        let kept = async {
            let mut standing = Standing::of(lease);
            loop {
                standing = match self.step(standing).await {
                    Ok(standing) => standing,
                    Err(end) => break end,
                };
            }
        };
        let end = tokio::select! {
            biased;
            () = gaps => WatchEnd::Stopped,
            end = kept => end,
        };
        drop(place);
        self.news.send_modify(|news| {
            news.held = false;
            news.ended = Some(end);
        });
    }

    async fn step(&mut self, standing: Standing) -> Result<Standing, WatchEnd> {
        match standing {
            Standing::Held { lease, refresh } => match self.wait(refresh).await {
                Woken::Due => self.refresh(lease).await,
                Woken::Told(Notice::Missed { at_least }) => {
                    self.missed(at_least);
                    Ok(Standing::Held { lease, refresh })
                }
                Woken::Told(Notice::Ended { reason }) => {
                    tracing::info!(uri = %self.asker.uri, reason, "a lease has ended");
                    Ok(self.lost(self.asker.now()))
                }
                Woken::Stop => {
                    self.asker.unsubscribe(&lease).await;
                    Err(WatchEnd::Stopped)
                }
                Woken::BusClosed => Err(WatchEnd::BusClosed),
            },
            Standing::Lost { since, attempt, again } => match self.wait(again).await {
                Woken::Due => self.ask_again(since, attempt).await,
                Woken::Told(_) => Ok(standing),
                Woken::Stop => Err(WatchEnd::Stopped),
                Woken::BusClosed => Err(WatchEnd::BusClosed),
            },
        }
    }

    async fn refresh(&mut self, lease: Lease) -> Result<Standing, WatchEnd> {
        let granted = tokio::select! {
            biased;
            () = self.stop.told() => None,
            granted = self.asker.refresh(&lease) => Some(granted),
        };
        let error = match granted {
            Some(Ok(lease)) => return Ok(Standing::of(lease)),
            Some(Err(error)) => error,
            None => {
                self.asker.unsubscribe(&lease).await;
                return Err(WatchEnd::Stopped);
            }
        };
        tracing::debug!(uri = %self.asker.uri, %error, "a lease was not refreshed");
        let now = self.asker.now();
        let refresh = now.saturating_add(lease.life / 9);
        Ok(if lease::is_unknown(&error) || refresh >= lease.ends() {
            self.lost(now.min(lease.ends()))
        } else {
            Standing::Held { lease, refresh }
        })
    }

    /// Asks for the lost lease once more.
    async fn ask_again(&mut self, since: Duration, attempt: u32) -> Result<Standing, WatchEnd> {
        let granted = tokio::select! {
            biased;
            // If it is given all the same, it ends when its time is over.
            () = self.stop.told() => return Err(WatchEnd::Stopped),
            granted = self.asker.subscribe() => granted,
        };
        let error = match granted {
            Ok(lease) => {
                self.news.send_modify(|news| news.held = true);
                // Whatever was said since it was lost.
                self.missed(0);
                return Ok(Standing::of(lease));
            }
            Err(error) => error,
        };
        tracing::debug!(uri = %self.asker.uri, %error, "a lost lease was not given again");
        if lease::is_final(&error) {
            return Err(WatchEnd::Refused(Arc::new(error)));
        }
        let now = self.asker.now();
        if now.saturating_sub(since) >= self.asker.client.0.options.patience {
            return Err(WatchEnd::Lost(Arc::new(error)));
        }
        let attempt = attempt.saturating_add(1);
        Ok(Standing::Lost { since, attempt, again: self.asker.pause(attempt) })
    }

    /// Waits until `due`, or for what comes before that.
    async fn wait(&mut self, due: Duration) -> Woken {
        let clock = Arc::clone(self.asker.client.outside().backbone().clock());
        let sleep = clock.sleep(due.saturating_sub(clock.monotonic()));
        tokio::pin!(sleep);
        loop {
            tokio::select! {
                biased;
                () = self.stop.told() => return Woken::Stop,
                heard = self.notices.next() => match heard {
                    Heard::Message(message) => match Notice::read(message.payload()) {
                        Some(notice) => return Woken::Told(notice),
                        None => tracing::debug!(uri = %self.asker.uri, "no notice that is known"),
                    },
                    Heard::Closed => return Woken::BusClosed,
                    // A notice that was missed is made good by the next refresh.
                    Heard::Gap(_) | Heard::Away(_) | Heard::Back => {}
                },
                () = &mut sleep => return Woken::Due,
            }
        }
    }

    fn lost(&self, since: Duration) -> Standing {
        self.news.send_modify(|news| news.held = false);
        self.missed(0);
        Standing::Lost { since, attempt: 0, again: self.asker.pause(0) }
    }

    fn missed(&self, at_least: u64) {
        missed(&self.news, at_least);
    }
}

/// Events are missing, or may be.
pub(super) fn missed(news: &watch::Sender<News>, at_least: u64) {
    news.send_modify(|news| {
        news.gaps += 1;
        news.missed = news.missed.saturating_add(at_least);
    });
}

impl Asker {
    pub(super) async fn subscribe(&self) -> Result<Lease, RemoteError> {
        let body = lease::subscribe(self.uri.path(), &self.sink, self.life);
        self.lease(lease::SUBSCRIBE, &body).await
    }

    async fn refresh(&self, lease: &Lease) -> Result<Lease, RemoteError> {
        self.lease(lease::REFRESH, &lease::refresh(lease, self.life)).await
    }

    async fn unsubscribe(&self, lease: &Lease) {
        if let Err(error) = self.ask(lease::UNSUBSCRIBE, &lease::unsubscribe(lease)).await {
            // It ends by itself when its time is over.
            tracing::debug!(uri = %self.uri, %error, "a lease was not ended");
        }
    }

    async fn lease(&self, command: &str, body: &RawJson<'_>) -> Result<Lease, RemoteError> {
        let asked = self.now();
        let answer = self.ask(command, body).await?;
        Lease::granted(&answer, self.life, asked, self.clock())
    }

    async fn ask(
        &self,
        command: &str,
        body: &RawJson<'_>,
    ) -> Result<RawJson<'static>, RemoteError> {
        let path = MxPath::new(command).map_err(|error| RemoteError::Topic(error.into()))?;
        let uri = MxUri::new(self.uri.realm().borrowed(), path);
        // A lease that is over while it is refreshed is no use.
        let deadline = self.client.0.options.deadline.min(self.life / 3);
        let options = CallOptions { deadline: Some(deadline), ..CallOptions::default() };
        self.client.call_with(&uri, body, &options).await
    }

    fn clock(&self) -> &dyn Clock {
        &**self.client.outside().backbone().clock()
    }

    fn now(&self) -> Duration {
        self.clock().monotonic()
    }

    /// When to ask again. At random, so that those who lost a gateway together don't come together.
    fn pause(&self, attempt: u32) -> Duration {
        let [a, b, c, d, ..] = self.client.0.random().bits();
        self.now().saturating_add(PAUSES.pause(attempt, u32::from_be_bytes([a, b, c, d])))
    }
}

/// Tells a gap whenever something may have come to this realm that nobody read, which whoever sent it
/// can't know: a mailbox of ours has missed something, or the backbone was away. Of that both when it goes
/// and when it is back, since whoever is told of a gap may look for what it missed in between. Never ends.
async fn gaps(
    mut backbone: ConnectionStates,
    mut mailboxes: watch::Receiver<u64>,
    news: watch::Sender<News>,
) {
    loop {
        let is_gap = tokio::select! {
            state = backbone.next() => match state {
                // Who looks late may see that it is back alone.
                Some(ConnectionState::Disconnected(_) | ConnectionState::Connected) => true,
                Some(_) => false,
                None => std::future::pending().await,
            },
            changed = mailboxes.changed() => match changed {
                Ok(()) => true,
                Err(_) => std::future::pending().await,
            },
        };
        if is_gap {
            news.send_modify(|news| news.gaps += 1);
        }
    }
}

/// Keeps nothing: a watch within the realm has no lease.
pub(super) async fn nothing(
    news: watch::Sender<News>,
    mut stop: Stop,
    place: OwnedSemaphorePermit,
) {
    stop.told().await;
    drop(place);
    news.send_modify(|news| {
        news.held = false;
        news.ended = Some(WatchEnd::Stopped);
    });
}
