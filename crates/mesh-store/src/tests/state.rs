//! Shared state in the file.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use async_trait::async_trait;
use mesh_clock::SystemClock;
use mesh_core::store::{
    BucketName, Expected, KeyValue, Removed, Revision, StoreErrorKind, StoreKey, Written,
};
use mesh_testkit::state::{self, StateBed, StateHarness, StateHook};
use mesh_testkit::suite::StartError;

use super::*;
use crate::{BucketBounds, StoreBucket};

struct InFile;

struct Opened {
    bed: Bed,
    store: Store,
}

#[async_trait]
impl StateHarness for InFile {
    async fn start(&self) -> Result<Arc<dyn StateBed>, StartError> {
        let bed = Bed::new();
        let store = bed.open().await;
        Ok(Arc::new(Opened { bed, store }))
    }

    fn offers(&self, _: StateHook) -> bool {
        true
    }

    fn lifetime(&self) -> Duration {
        Duration::from_secs(60)
    }
}

#[async_trait]
impl StateBed for Opened {
    async fn open(&self, bucket: &BucketName) -> Result<Arc<dyn KeyValue>, StartError> {
        let bounds = BucketBounds { backlog: 64, ..BucketBounds::default() };
        Ok(Arc::new(self.store.key_value(bucket, bounds).await?))
    }

    async fn open_small(&self, bucket: &BucketName) -> Result<Arc<dyn KeyValue>, StartError> {
        let bounds = BucketBounds { entries: 5, ..BucketBounds::default() };
        Ok(Arc::new(self.store.key_value(bucket, bounds).await?))
    }

    async fn pass(&self, span: Duration) {
        self.bed.clock.advance(span).await;
        // The file's thread has its own pace.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    fn backlog(&self) -> usize {
        64
    }

    async fn take_away(&self) {
        self.store.close().await;
    }
}

#[tokio::test]
async fn a_bucket_in_the_file_keeps_the_contract() {
    let report = state::run(&InFile).await;
    report.assert();
    assert_eq!(report.summary(), "25 passed, 0 refused as undeclared, 0 skipped, 0 failed");
}

async fn bucket(store: &Store) -> StoreBucket {
    store.key_value(&"marks".parse().unwrap(), BucketBounds::default()).await.unwrap()
}

fn name(text: impl AsRef<str>) -> StoreKey {
    StoreKey::new(text).unwrap()
}

async fn put(bucket: &StoreBucket, key: &str, lifetime: Duration) -> Revision {
    let written = bucket.write(&name(key), "value".into(), lifetime, Expected::Absent).await;
    let Written::Done(revision) = written.unwrap() else { panic!("{key} stands there") };
    revision
}

#[tokio::test]
async fn entries_their_ends_and_their_numbers_survive_a_restart() {
    let bed = Bed::new();
    let store = bed.open().await;
    let marks = bucket(&store).await;
    let minute = Duration::from_secs(60);
    let first = put(&marks, "long", minute * 5).await;
    put(&marks, "short", minute).await;
    let last = put(&marks, "removed", minute).await;
    assert_eq!(marks.remove(&name("removed"), None).await.unwrap(), Removed::Done);
    store.close().await;
    let gone = marks.read(&name("long")).await.unwrap_err();
    assert_eq!(gone.kind(), StoreErrorKind::Unavailable);

    bed.clock.advance(minute).await;
    let store = bed.open().await;
    let marks = bucket(&store).await;
    let entry = marks.read(&name("long")).await.unwrap().unwrap();
    assert_eq!((entry.revision, &*entry.value), (first, &b"value"[..]));
    assert_eq!(marks.read(&name("short")).await.unwrap(), None);
    assert_eq!(marks.read(&name("removed")).await.unwrap(), None);
    assert!(put(&marks, "new", minute).await > last, "a number came again");
    store.close().await;

    // Also where nothing is left that has a number.
    bed.clock.advance(minute * 10).await;
    let store = bed.open().await;
    let marks = bucket(&store).await;
    assert_eq!(marks.remove(&name("new"), None).await.unwrap(), Removed::Done);
    store.close().await;
    let store = bed.open().await;
    assert!(put(&bucket(&store).await, "newer", minute).await > last);
}

#[tokio::test]
async fn a_clock_that_is_set_back_keeps_a_mark_for_its_time_and_no_longer() {
    let bed = Bed::new();
    let store = bed.open().await;
    put(&bucket(&store).await, "a", Duration::from_secs(300)).await;
    store.close().await;
    let past = ManualClock::at(mesh_core::time::Timestamp::from_millis(0));
    let options = StoreOptions::default();
    let store = Store::open(bed.path(), Arc::new(past.clone()), options).await.unwrap();
    let marks = bucket(&store).await;
    past.advance(Duration::from_secs(299)).await;
    assert!(marks.read(&name("a")).await.unwrap().is_some());
    past.advance(Duration::from_secs(1)).await;
    assert_eq!(marks.read(&name("a")).await.unwrap(), None);
}

#[tokio::test]
async fn a_file_of_the_form_before_gets_room_for_state_and_forgets_nothing() {
    let bed = Bed::new();
    let store = bed.open().await;
    handle(&store, "first").await;
    store.close().await;
    let file = rusqlite::Connection::open(bed.path()).unwrap();
    file.execute_batch("DROP TABLE state; DROP TABLE state_last; PRAGMA user_version = 1").unwrap();
    drop(file);
    for _ in 0..2 {
        let store = bed.open().await;
        assert_eq!(known(&store, "first").await, Handled::Yes);
        let marks = bucket(&store).await;
        let written = marks.write(&name("a"), "1".into(), SECOND, Expected::Any).await.unwrap();
        assert!(matches!(written, Written::Done(_)));
        store.close().await;
    }
}

#[tokio::test]
async fn what_was_written_in_a_transaction_that_failed_is_not_told_and_takes_no_room() {
    use futures_util::StreamExt as _;
    use mesh_core::store::Change;

    let bed = Bed::new();
    let store = bed.open().await;
    let bounds = BucketBounds { entries: 2, ..BucketBounds::default() };
    let marks = store.key_value(&"marks".parse().unwrap(), bounds).await.unwrap();
    let mut changes = marks.watch().await.unwrap();
    assert_eq!(changes.next().await.unwrap().unwrap(), Change::Caught);
    let first = put(&marks, "a", SECOND).await;
    assert!(matches!(changes.next().await.unwrap().unwrap(), Change::Written(..)));
    let pages = store.pages(1).await;
    let large = bytes::Bytes::from(vec![7; 50_000]);
    let full = marks.write(&name("b"), large, SECOND, Expected::Any).await.unwrap_err();
    assert_eq!(full.kind(), StoreErrorKind::Full, "{full}");
    store.pages(pages + 1000).await;
    let second = put(&marks, "b", SECOND).await;
    assert!(second > first);
    let Change::Written(key, entry) = changes.next().await.unwrap().unwrap() else { panic!() };
    assert_eq!((key, entry.revision), (name("b"), second));
}

const CHILD: &str = "MESH_TEST_STATE_CHILD";

#[tokio::test]
#[ignore = "the next test runs it in a process of its own, and kills that"]
async fn the_child_of_the_next_test() {
    let path = std::env::var(CHILD).unwrap();
    let clock = Arc::new(SystemClock::new());
    let store = Store::open(path, clock, StoreOptions::default()).await.unwrap();
    let marks = bucket(&store).await;
    for number in 0_u64.. {
        let key = name(number.to_string());
        let written = marks.write(&key, "".into(), SECOND * 600, Expected::Absent);
        assert!(matches!(written.await.unwrap(), Written::Done(_)));
        // Said only once it is written.
        writeln!(std::io::stderr(), "wrote {number}").unwrap();
    }
}

#[tokio::test]
async fn what_was_written_survives_a_kill_at_any_moment() {
    let bed = Bed::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::state::the_child_of_the_next_test", "--ignored", "--nocapture"])
        .env(CHILD, bed.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let mut last = 0_u64;
    for line in said.lines() {
        let line = line.unwrap();
        let Some(number) = line.strip_prefix("wrote ") else { continue };
        last = number.parse().unwrap();
        if last == 30 {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(last >= 30);
    let clock = Arc::new(SystemClock::new());
    let store = Store::open(bed.path(), clock, StoreOptions::default()).await.unwrap();
    let marks = bucket(&store).await;
    for number in 0..=last {
        let again = name(number.to_string());
        let written = marks.write(&again, "".into(), SECOND, Expected::Absent).await.unwrap();
        assert_eq!(written, Written::Conflict, "{number} of {last}");
    }
}
