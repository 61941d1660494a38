//! A store that keeps the contract, or breaks it in one way.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use mesh_core::port::Clock as _;
use mesh_core::store::{
    BucketName, Change, Changes, Entry, Expected, KeyValue, Removed, Revision, StoreError,
    StoreErrorKind, StoreKey, Written,
};
use mesh_testkit::clock::ManualClock;
use mesh_testkit::state::{StateBed, StateHarness, StateHook};
use mesh_testkit::suite::StartError;
use parking_lot::Mutex;
use tokio::sync::watch;

const BACKLOG: usize = 128;
const SMALL: usize = 5;
const LARGEST: usize = 2000;

pub(super) struct Reference {
    breach: &'static str,
    hooks: bool,
}

impl Reference {
    pub(super) fn honest() -> Self {
        Self::breaking("")
    }

    pub(super) fn breaking(breach: &'static str) -> Self {
        Self { breach, hooks: true }
    }

    pub(super) fn without_hooks(self) -> Self {
        Self { hooks: false, ..self }
    }
}

#[async_trait]
impl StateHarness for Reference {
    async fn start(&self) -> Result<Arc<dyn StateBed>, StartError> {
        let clock = ManualClock::new();
        Ok(Arc::new(Bed { breach: self.breach, clock, buckets: Mutex::default() }))
    }

    fn offers(&self, _: StateHook) -> bool {
        self.hooks
    }

    fn lifetime(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(2)
    }
}

struct Bed {
    breach: &'static str,
    clock: ManualClock,
    buckets: Mutex<HashMap<BucketName, Arc<Bucket>>>,
}

#[derive(Debug)]
struct Bucket {
    breach: &'static str,
    clock: ManualClock,
    most: usize,
    table: Mutex<Table>,
    /// How many changes there were, or that it is away.
    news: watch::Sender<(usize, bool)>,
}

#[derive(Debug, Default)]
struct Table {
    entries: BTreeMap<StoreKey, (Entry, Duration)>,
    log: Vec<Change>,
    last: u64,
    away: bool,
}

/// Handles differ in what they have read.
#[derive(Debug)]
struct Handle(Arc<Bucket>, Mutex<HashMap<StoreKey, Option<Entry>>>);

impl Bed {
    fn handle(&self, name: &BucketName, most: usize) -> Arc<dyn KeyValue> {
        let name = if self.breach == "has one bucket for all" {
            "all".parse().unwrap()
        } else {
            name.clone()
        };
        let (breach, clock) = (self.breach, self.clock.clone());
        let made = || {
            let (news, table) = (watch::Sender::new((0, false)), Mutex::default());
            Arc::new(Bucket { breach, clock, most, table, news })
        };
        let bucket = Arc::clone(self.buckets.lock().entry(name).or_insert_with(made));
        Arc::new(Handle(bucket, Mutex::default()))
    }
}

#[async_trait]
impl StateBed for Bed {
    async fn open(&self, bucket: &BucketName) -> Result<Arc<dyn KeyValue>, StartError> {
        Ok(self.handle(bucket, usize::MAX))
    }

    async fn open_small(&self, bucket: &BucketName) -> Result<Arc<dyn KeyValue>, StartError> {
        Ok(self.handle(bucket, SMALL))
    }

    async fn pass(&self, span: Duration) {
        self.clock.advance(span).await;
        // Who waits in vain is to find the end of its patience.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    fn backlog(&self) -> usize {
        BACKLOG
    }

    async fn take_away(&self) {
        for bucket in self.buckets.lock().values() {
            bucket.table.lock().away = bucket.breach != "stays when it is taken away";
            if bucket.breach != "leaves watchers alone" {
                bucket.news.send_modify(|news| news.1 = true);
            }
        }
    }
}

impl Bucket {
    fn does(&self, breach: &str) -> bool {
        self.breach == breach
    }

    fn check(&self, table: &Table) -> Result<(), StoreError> {
        let damaged = self.does("says that it is damaged");
        let kind = if damaged { StoreErrorKind::Corrupt } else { StoreErrorKind::Unavailable };
        if table.away { Err(StoreError::new(kind, "away")) } else { Ok(()) }
    }

    fn tell(&self, table: &mut Table, change: Change) {
        table.log.push(change);
        self.news.send_modify(|news| news.0 = table.log.len());
    }

    fn expire(&self, table: &mut Table) {
        if self.does("reads what has expired") {
            return;
        }
        let now = self.clock.monotonic();
        let over = table.entries.iter().filter(|(_, (_, end))| *end <= now);
        for key in over.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            if self.does("writes over nothing that has expired") && key.as_str() == "a" {
                continue;
            }
            table.entries.remove(&key);
            if !self.does("does not tell of ends") {
                self.tell(table, Change::Removed(key));
            }
        }
    }

    fn fits(&self, found: Option<&Entry>, expected: Expected) -> bool {
        match expected {
            Expected::Any => true,
            Expected::Absent => found.is_none() || self.does("takes what is there for absent"),
            Expected::Revision(wanted) => found
                .is_some_and(|found| found.revision == wanted || self.does("takes any revision")),
        }
    }

    fn next(&self, at: &mut usize) -> Option<Result<Change, StoreError>> {
        let mut table = self.table.lock();
        self.expire(&mut table);
        if let Err(error) = self.check(&table) {
            return (!self.does("leaves watchers alone")).then_some(Err(error));
        }
        if table.log.len() - *at > BACKLOG {
            if !self.does("skips what a slow reader has missed") {
                return Some(Err(StoreError::new(StoreErrorKind::Unavailable, "left behind")));
            }
            *at = table.log.len() - 1;
        }
        *at += if self.does("tells every second change") { 2 } else { 1 };
        let change = table.log.get(*at - 1).cloned();
        if change.is_none() {
            *at = (*at).min(table.log.len() + 1) - 1;
        }
        change.map(Ok)
    }
}

#[async_trait]
impl KeyValue for Handle {
    async fn read(&self, key: &StoreKey) -> Result<Option<Entry>, StoreError> {
        let bucket = &self.0;
        let mut table = bucket.table.lock();
        bucket.check(&table)?;
        bucket.expire(&mut table);
        let mut entry = table.entries.get(key).map(|(entry, _)| entry.clone());
        if let Some(entry) = entry.as_mut().filter(|_| bucket.does("cuts values")) {
            entry.value.truncate(100);
        }
        if bucket.does("reads what it has read before") {
            return Ok(self.1.lock().entry(key.clone()).or_insert(entry).clone());
        }
        Ok(entry)
    }

    async fn write(
        &self,
        key: &StoreKey,
        value: Bytes,
        lifetime: Duration,
        expected: Expected,
    ) -> Result<Written, StoreError> {
        tokio::task::yield_now().await;
        let bucket = &self.0;
        let most = LARGEST - usize::from(bucket.does("takes one byte less"));
        if value.len() > most && !bucket.does("takes any length") {
            return Err(StoreError::new(StoreErrorKind::TooLarge, ""));
        }
        if bucket.does("looks before it locks") {
            let found = bucket.table.lock().entries.get(key).map(|(entry, _)| entry.clone());
            std::thread::sleep(Duration::from_millis(1));
            if !bucket.fits(found.as_ref(), expected) {
                return Ok(Written::Conflict);
            }
        }
        let mut table = bucket.table.lock();
        bucket.check(&table)?;
        bucket.expire(&mut table);
        let found = table.entries.get(key).cloned();
        let stands = found.as_ref().map(|(entry, _)| entry);
        if !bucket.does("looks before it locks") && !bucket.fits(stands, expected) {
            return Ok(Written::Conflict);
        }
        let full = table.entries.len() >= bucket.most;
        if full && (found.is_none() || bucket.does("replaces nothing when it is full")) {
            if bucket.does("pushes out the oldest") {
                table.entries.pop_first();
            } else if !bucket.does("has no end of room") {
                return Err(StoreError::new(StoreErrorKind::Full, ""));
            }
        }
        let anew = found.is_none() && bucket.does("begins its numbers anew");
        table.last = if anew { 1 } else { table.last + 1 };
        let revision = Revision(table.last);
        let mut end = bucket.clock.monotonic() + lifetime;
        if let Some((_, first)) = found.as_ref().filter(|_| bucket.does("keeps the first end")) {
            end = *first;
        }
        let entry = Entry { value, revision };
        if found.is_none() || !bucket.does("replaces nothing") {
            table.entries.insert(key.clone(), (entry.clone(), end));
        }
        bucket.tell(&mut table, Change::Written(key.clone(), entry));
        Ok(Written::Done(revision))
    }

    async fn remove(
        &self,
        key: &StoreKey,
        revision: Option<Revision>,
    ) -> Result<Removed, StoreError> {
        tokio::task::yield_now().await;
        let bucket = &self.0;
        let mut table = bucket.table.lock();
        bucket.check(&table)?;
        bucket.expire(&mut table);
        let Some((entry, _)) = table.entries.get(key) else {
            let missed = bucket.does("misses what it removes") && revision.is_some();
            return Ok(if missed { Removed::Conflict } else { Removed::Done });
        };
        let other = revision.is_some_and(|revision| revision != entry.revision);
        if other && !bucket.does("takes any revision") {
            return Ok(Removed::Conflict);
        }
        if !bucket.does("reads what was removed") {
            table.entries.remove(key);
        }
        bucket.tell(&mut table, Change::Removed(key.clone()));
        Ok(Removed::Done)
    }

    async fn watch(&self) -> Result<Changes, StoreError> {
        let bucket = Arc::clone(&self.0);
        let (mut present, at) = {
            let mut table = bucket.table.lock();
            bucket.check(&table)?;
            bucket.expire(&mut table);
            let all = table.entries.iter();
            let all = all.map(|(key, (entry, _))| Change::Written(key.clone(), entry.clone()));
            (all.collect::<Vec<_>>(), table.log.len())
        };
        if bucket.does("does not tell what stands there") {
            present.clear();
        }
        if !bucket.does("never says caught") {
            present.push(Change::Caught);
        }
        // Others write meanwhile.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        let late = bucket.does("looks before it listens");
        let at = if late { bucket.table.lock().log.len() } else { at };
        let news = bucket.news.subscribe();
        let state = Some((bucket, news, at));
        let changes = stream::unfold(state, |state| async {
            let (bucket, mut news, mut at) = state?;
            loop {
                news.borrow_and_update();
                match bucket.next(&mut at) {
                    Some(Ok(change)) => return Some((Ok(change), Some((bucket, news, at)))),
                    Some(Err(error)) => return Some((Err(error), None)),
                    None => {}
                }
                let now = bucket.clock.monotonic();
                let ends = |table: &Table| table.entries.values().map(|(_, end)| *end).min();
                let rest = ends(&bucket.table.lock()).map(|end| end.saturating_sub(now));
                tokio::select! {
                    changed = news.changed() => changed.ok()?,
                    () = bucket.clock.sleep(rest.unwrap_or(Duration::MAX)), if rest.is_some() => {}
                }
            }
        });
        Ok(Box::pin(stream::iter(present).map(Ok).chain(changes)))
    }

    fn max_value(&self) -> usize {
        LARGEST
    }
}
