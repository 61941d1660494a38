//! Confirmations that are lost, and a server that goes.

use std::time::Duration;

use mesh_core::store::{Expected, KeyValue, Removed, StoreErrorKind, StoreKey, Written};
use mesh_testkit::servers::Direction;
use mesh_testkit::servers::Proxy;
use mesh_transport_nats::NatsBucket;

use crate::bed::{Server, bucket};

const HOUR: Duration = Duration::from_secs(3600);

fn key(name: &str) -> StoreKey {
    StoreKey::new(name).unwrap()
}

/// A server, the way to it, a bucket on that way, and the same bucket on a way of its own.
struct Way {
    server: Server,
    proxy: Proxy,
    far: NatsBucket,
    near: NatsBucket,
}

impl Way {
    async fn open() -> Self {
        let server = Server::start().await.unwrap();
        let proxy = Proxy::before(server.server.address()).await.unwrap();
        let state = server.connect_at("state.1.gw1", proxy.address()).await.unwrap();
        let far = state.with_timeout(Duration::from_secs(30)).bucket(&bucket("one")).await.unwrap();
        let near = server.bucket("state.1.gw2", "one").await.unwrap();
        Self { server, proxy, far, near }
    }

    /// Nothing comes back any more.
    fn deafen(&self) {
        self.proxy.stall(Direction::ToClient);
    }

    /// The connection is lost, and the next one is whole.
    async fn mend(&self) {
        self.proxy.cut().await;
        self.proxy.resume();
    }

    /// Returns when the near side reads that.
    async fn shows(&self, name: &str, value: Option<&'static str>) {
        let shown = async {
            loop {
                let found = self.near.read(&key(name)).await.unwrap().map(|entry| entry.value);
                if found.as_deref() == value.map(str::as_bytes) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), shown).await.unwrap();
    }
}

fn write(bucket: &NatsBucket, value: &'static str, expected: Expected) -> Writing {
    let bucket = bucket.clone();
    tokio::spawn(async move { bucket.write(&key("a"), value.into(), HOUR, expected).await })
}

type Writing = tokio::task::JoinHandle<Result<Written, mesh_core::store::StoreError>>;

#[tokio::test]
async fn a_writing_whose_confirmation_is_lost_is_in_no_conflict_with_itself() {
    let way = Way::open().await;
    for expected in [Expected::Absent, Expected::Any] {
        way.deafen();
        let value = if expected == Expected::Absent { "1" } else { "2" };
        let writing = write(&way.far, value, expected);
        way.shows("a", Some(value)).await;
        let stored = way.near.read(&key("a")).await.unwrap().unwrap().revision;
        way.mend().await;
        assert_eq!(writing.await.unwrap().unwrap(), Written::Done(stored), "{expected:?}");
        let after = way.near.read(&key("a")).await.unwrap().unwrap().revision;
        assert_eq!(after, stored, "it was written twice");
    }
    // Over a revision, too.
    let last = way.near.read(&key("a")).await.unwrap().unwrap().revision;
    way.deafen();
    let writing = write(&way.far, "3", Expected::Revision(last));
    way.shows("a", Some("3")).await;
    let stored = way.near.read(&key("a")).await.unwrap().unwrap().revision;
    way.mend().await;
    assert_eq!(writing.await.unwrap().unwrap(), Written::Done(stored));
}

#[tokio::test]
async fn a_writing_that_nobody_can_say_what_became_of_is_no_conflict() {
    let way = Way::open().await;
    way.deafen();
    let writing = write(&way.far, "far", Expected::Absent);
    way.shows("a", Some("far")).await;
    assert!(matches!(write(&way.near, "near", Expected::Any).await.unwrap(), Ok(Written::Done(_))));
    way.mend().await;
    let error = writing.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(error.to_string().contains("somebody else has written since"), "{error}");
    way.shows("a", Some("near")).await;
}

#[tokio::test]
async fn a_writing_that_was_removed_before_its_confirmation_is_not_written_again() {
    let way = Way::open().await;
    way.deafen();
    let writing = write(&way.far, "1", Expected::Absent);
    way.shows("a", Some("1")).await;
    let stored = way.near.read(&key("a")).await.unwrap().unwrap().revision;
    assert_eq!(way.near.remove(&key("a"), None).await.unwrap(), Removed::Done);
    way.mend().await;
    assert_eq!(writing.await.unwrap().unwrap(), Written::Done(stored));
    assert_eq!(way.near.read(&key("a")).await.unwrap(), None);
}

#[tokio::test]
async fn a_removal_whose_confirmation_is_lost_is_done() {
    let way = Way::open().await;
    let Written::Done(revision) = write(&way.near, "1", Expected::Absent).await.unwrap().unwrap()
    else {
        panic!()
    };
    let far = way.far.clone();
    // It looks first, so what is lost is cut off in its middle, or not at all.
    let removing = tokio::spawn(async move { far.remove(&key("a"), Some(revision)).await });
    way.shows("a", None).await;
    way.mend().await;
    assert_eq!(removing.await.unwrap().unwrap(), Removed::Done);
}

#[tokio::test]
async fn entries_outlive_a_server_that_is_killed_and_calls_wait_for_its_return() {
    let way = Way::open().await;
    let Written::Done(revision) = write(&way.far, "1", Expected::Absent).await.unwrap().unwrap()
    else {
        panic!()
    };
    way.server.server.kill().unwrap();
    let reading = {
        let far = way.far.clone();
        tokio::spawn(async move { far.read(&key("a")).await })
    };
    let writing = write(&way.far, "2", Expected::Absent);
    way.server.server.start().await.unwrap();
    assert_eq!(reading.await.unwrap().unwrap().unwrap().revision, revision);
    assert_eq!(writing.await.unwrap().unwrap(), Written::Conflict);
    let Written::Done(next) =
        write(&way.near, "3", Expected::Revision(revision)).await.unwrap().unwrap()
    else {
        panic!()
    };
    assert!(next > revision);
}

#[tokio::test]
async fn a_closed_connection_is_unavailable() {
    let way = Way::open().await;
    let state = way.server.connect("state.1.gw1").await.unwrap();
    let one = state.bucket(&bucket("one")).await.unwrap();
    let mut changes = one.watch().await.unwrap();
    state.close(Duration::from_secs(5)).await;
    let error = one.read(&key("a")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
    use futures_util::StreamExt as _;
    let mut last = None;
    while let Some(change) = changes.next().await {
        last = Some(change);
    }
    assert_eq!(last.unwrap().unwrap_err().kind(), StoreErrorKind::Unavailable);
}
