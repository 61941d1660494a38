use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt as _;
use mesh_core::guard::Now;
use mesh_core::mx::Profile;
use mesh_core::name::RealmName;
use mesh_core::port::Clock;
use mesh_core::store::{Change, Changes, Expected, KeyValue, StoreError, StoreErrorKind, Written};
use mesh_core::time::Backoff;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Session, SessionLimits, SessionRefusal, SessionTable, record};
use crate::local::Task;

/// Where the principals of a realm are present (protocol §8): a [`SessionTable`] that forgets by the clock,
/// and that gateways of one realm share where there is a store.
///
/// With a store, a session is in it before it is answered, and every gateway hears of it. A lookup reads
/// this gateway's copy, which is behind what another has just noted by what the store takes to tell it.
pub struct SessionDirectory {
    inner: Arc<Inner>,
    _tasks: Vec<Task>,
}

struct Inner {
    clock: Arc<dyn Clock>,
    table: Mutex<SessionTable>,
    limits: SessionLimits,
    store: Option<Arc<dyn KeyValue>>,
    sooner: Notify,
    unreadable: AtomicU64,
    store_failures: AtomicU64,
}

/// Why a session was not noted, kept or found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// There are too many, or there is none.
    #[error(transparent)]
    Refused(#[from] SessionRefusal),
    /// The shared store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a directory stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryStatus {
    /// Sessions known.
    pub sessions: usize,
    /// Bytes that they take.
    pub bytes: usize,
    /// Entries of the shared store that can't be read: passed over.
    pub unreadable: u64,
    /// Calls of the shared store that failed.
    pub store_failures: u64,
}

const PAUSES: Backoff =
    Backoff { min: std::time::Duration::from_millis(100), max: std::time::Duration::from_secs(10) };

impl SessionDirectory {
    /// A directory that goes by `clock`. With a store it knows what is in it when this returns.
    ///
    /// # Errors
    /// [`StoreError`]: the store can't be read.
    pub async fn open(
        clock: Arc<dyn Clock>,
        limits: SessionLimits,
        store: Option<Arc<dyn KeyValue>>,
    ) -> Result<Self, StoreError> {
        let inner = Arc::new(Inner {
            clock,
            table: Mutex::new(SessionTable::new(limits)),
            limits,
            store,
            sooner: Notify::new(),
            unreadable: AtomicU64::new(0),
            store_failures: AtomicU64::new(0),
        });
        let mut tasks = Vec::new();
        if let Some(store) = &inner.store {
            let changes = inner.catch_up(store).await?;
            tasks.push(Task::spawn(Arc::clone(&inner).follow(Arc::clone(store), changes)));
        }
        tasks.push(Task::spawn(Arc::clone(&inner).expire()));
        Ok(Self { inner, _tasks: tasks })
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> DirectoryStatus {
        let table = self.inner.table.lock();
        DirectoryStatus {
            sessions: table.len(),
            bytes: table.bytes(),
            unreadable: self.inner.unreadable.load(Ordering::Relaxed),
            store_failures: self.inner.store_failures.load(Ordering::Relaxed),
        }
    }

    /// Notes that `principal` is present in `tab_realm`, or extends that.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn register(
        &self,
        principal: &str,
        tab_realm: &RealmName,
        profile: Profile,
    ) -> Result<Session, SessionError> {
        let inner = &self.inner;
        let planned = inner.table.lock().plan(principal, tab_realm, profile, inner.now())?;
        inner.note(planned).await
    }

    /// Extends a session.
    ///
    /// # Errors
    /// [`SessionError`]: also where there is none.
    pub async fn heartbeat(
        &self,
        principal: &str,
        tab_realm: &RealmName,
    ) -> Result<Session, SessionError> {
        let inner = &self.inner;
        let now = inner.now();
        let known = inner.table.lock().session(principal, tab_realm, now);
        let known = match (known, &inner.store) {
            (Ok(known), _) => known,
            // Another gateway may have noted it a moment ago.
            (Err(refusal), Some(store)) => {
                inner.stored(&**store, principal, tab_realm).await?.ok_or(refusal)?
            }
            (Err(refusal), None) => return Err(refusal.into()),
        };
        let profile = known.profile;
        let ends = inner.table.lock().plan(principal, tab_realm, profile, now)?.ends;
        inner.note(Session { ends, ..known }).await
    }

    /// The sessions of `principal`, by the names of their realms; what has ended is left out.
    #[must_use]
    pub fn lookup(&self, principal: &str) -> Vec<Session> {
        self.inner.table.lock().lookup(principal, self.now())
    }

    /// At most `most` sessions from place `from` on, each with the place after it.
    #[must_use]
    pub fn page(&self, from: u32, most: usize) -> Vec<(u32, Session)> {
        self.inner.table.lock().page(from, most).collect()
    }

    pub(crate) fn now(&self) -> Now {
        self.inner.now()
    }
}

impl Inner {
    fn now(&self) -> Now {
        Now::of(&*self.clock)
    }

    fn told<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &result {
            self.store_failures.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%error, "the store of sessions failed");
        }
        result
    }

    async fn note(&self, session: Session) -> Result<Session, SessionError> {
        let mut session = session;
        if let Some(store) = &self.store {
            let key = record::key(&session.principal, &session.tab_realm)?;
            let value = record::write(&session, self.now());
            // Whoever writes last has seen the tab last.
            let written = store.write(&key, value, self.limits.lifetime, Expected::Any).await;
            if let Written::Done(revision) = self.told(written)? {
                session.revision = revision.0;
            }
        }
        self.apply(&session)?;
        Ok(session)
    }

    fn apply(&self, session: &Session) -> Result<(), SessionRefusal> {
        let mut table = self.table.lock();
        let before = table.next_end();
        table.apply(session)?;
        if table.next_end() != before {
            self.sooner.notify_one();
        }
        Ok(())
    }

    async fn stored(
        &self,
        store: &dyn KeyValue,
        principal: &str,
        tab_realm: &RealmName,
    ) -> Result<Option<Session>, StoreError> {
        let key = record::key(principal, tab_realm)?;
        let entry = self.told(store.read(&key).await)?;
        let now = self.now();
        let session =
            entry.and_then(|entry| self.readable(record::read(&key, &entry, &self.limits, now)));
        Ok(session.filter(|session| session.ends > crate::tables::millis(now.monotonic)))
    }

    fn readable(&self, read: Result<Session, String>) -> Option<Session> {
        read.inspect_err(|why| {
            self.unreadable.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%why, "an entry of the store of sessions can't be read");
        })
        .ok()
    }

    async fn expire(self: Arc<Self>) {
        loop {
            let next = {
                let mut table = self.table.lock();
                while table.expire(self.now()).is_some() {}
                table.next_end()
            };
            let until = async {
                match next {
                    Some(next) => {
                        self.clock.sleep(next.saturating_sub(self.clock.monotonic())).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = until => {}
                () = self.sooner.notified() => {}
            }
        }
    }

    async fn catch_up(&self, store: &Arc<dyn KeyValue>) -> Result<Changes, StoreError> {
        let mut changes = self.told(store.watch().await)?;
        loop {
            match self.next(&mut changes).await? {
                Change::Caught => return Ok(changes),
                change => self.changed(&change),
            }
        }
    }

    async fn next(&self, changes: &mut Changes) -> Result<Change, StoreError> {
        let ended = || StoreError::new(StoreErrorKind::Unavailable, "the watch ended");
        self.told(changes.next().await.unwrap_or_else(|| Err(ended())))
    }

    /// A removal says nothing new: a session ends when its time is over, and by that alone.
    fn changed(&self, change: &Change) {
        if let Change::Written(key, entry) = change
            && record::is_session(key)
            && let Some(session) = self.readable(record::read(key, entry, &self.limits, self.now()))
            && let Err(why) = self.apply(&session)
        {
            tracing::warn!(%why, "a session of the store can't be taken in");
        }
    }

    /// Follows the store, and watches anew when it is left behind or the store was away.
    async fn follow(self: Arc<Self>, store: Arc<dyn KeyValue>, mut changes: Changes) {
        let mut attempt = 0;
        loop {
            while let Ok(change) = self.next(&mut changes).await {
                self.changed(&change);
            }
            loop {
                self.clock.sleep(PAUSES.longest(attempt)).await;
                attempt += 1;
                if let Ok(again) = self.catch_up(&store).await {
                    changes = again;
                    attempt = 0;
                    break;
                }
            }
        }
    }
}

impl fmt::Debug for SessionDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionDirectory").field("status", &self.status()).finish_non_exhaustive()
    }
}
