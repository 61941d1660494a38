use std::sync::atomic::AtomicBool;

use mesh_core::guard::Outcome;
use mesh_core::mx::{Address, Decoded, Envelope, MailboxKind, MsgType, MxPath, Party, Shard};
use mesh_core::store::{Changes, Entry};
use mesh_testkit::clock::ManualClock;

use super::*;
use crate::{InMemoryState, Seeded, StateLimits};

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

fn cmd(from: &str, id: &str) -> Vec<u8> {
    let path = MxPath::new("stock.accepts.count").unwrap();
    let to = Address::new(&realm("acme.com"), path).into_owned();
    let mut envelope = Envelope::new(MsgType::Cmd, Party::new(&realm(from), None).into_owned(), to);
    envelope.msg_id = Some(id.to_owned().into());
    envelope.encode().unwrap()
}

/// A store that can be taken away, before or after it has done what it was asked for.
#[derive(Debug)]
struct Fickle {
    inner: InMemoryState,
    away: AtomicBool,
    mute: AtomicBool,
    hangs: AtomicBool,
}

impl Fickle {
    async fn word<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let away = || StoreError::new(StoreErrorKind::Unavailable, "away");
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if self.away.load(Ordering::Relaxed) {
            return Err(away());
        }
        let done = call.await?;
        if self.mute.load(Ordering::Relaxed) { Err(away()) } else { Ok(done) }
    }
}

#[async_trait]
impl KeyValue for Fickle {
    async fn read(&self, key: &StoreKey) -> Result<Option<Entry>, StoreError> {
        self.word(self.inner.read(key)).await
    }
    async fn write(
        &self,
        key: &StoreKey,
        value: Bytes,
        lifetime: Duration,
        expected: Expected,
    ) -> Result<Written, StoreError> {
        self.word(self.inner.write(key, value, lifetime, expected)).await
    }
    async fn remove(
        &self,
        key: &StoreKey,
        revision: Option<Revision>,
    ) -> Result<Removed, StoreError> {
        self.word(self.inner.remove(key, revision)).await
    }
    async fn watch(&self) -> Result<Changes, StoreError> {
        self.inner.watch().await
    }
    fn max_value(&self) -> usize {
        self.inner.max_value()
    }
}

/// Two gateways of one realm.
struct Bed {
    clock: ManualClock,
    store: Arc<Fickle>,
    gateways: [SharedReplay; 2],
}

impl Bed {
    fn new() -> Self {
        Self::with(StateLimits::default(), &SharedReplayOptions::default())
    }

    fn with(limits: StateLimits, options: &SharedReplayOptions) -> Self {
        let clock = ManualClock::new();
        let inner = InMemoryState::new(Arc::new(clock.clone()), limits);
        let [away, mute, hangs] = [false; 3].map(AtomicBool::new);
        let store = Arc::new(Fickle { inner, away, mute, hangs });
        let gateways = [1, 2].map(|seed| {
            let (kept, time) = (Arc::clone(&store) as Arc<dyn KeyValue>, Arc::new(clock.clone()));
            SharedReplay::new(kept, realm("acme.com"), time, &Seeded::new(seed), options.clone())
        });
        Self { clock, store, gateways }
    }

    async fn says(&self, gateway: usize, from: &str, id: &str) -> Verdict {
        let bytes = cmd(from, id);
        let now = Now::of(&self.clock);
        self.gateways[gateway].check(&arrival(&bytes), now).await
    }

    async fn passes(&self, gateway: usize, from: &str, id: &str) -> Reservation {
        match self.says(gateway, from, id).await {
            Verdict::Reserved(reservation) => reservation,
            other => panic!("{other:?}"),
        }
    }

    async fn refuses(&self, gateway: usize, from: &str, id: &str) -> String {
        match self.says(gateway, from, id).await {
            Verdict::Refuse(refusal) => {
                Outcome::of_refusal("it", refusal, MsgType::Cmd).to_string()
            }
            other => panic!("{other:?}"),
        }
    }

    async fn release(&self, gateway: usize, from: &str, id: &str, reservation: Reservation) {
        let bytes = cmd(from, id);
        self.gateways[gateway].release(&arrival(&bytes), reservation).await;
    }

    fn figure(&self, gateway: usize, name: &str) -> u64 {
        let figures = self.gateways[gateway].figures();
        figures.iter().find(|(found, _)| *found == name).unwrap().1
    }
}

fn arrival(bytes: &[u8]) -> Arrival<'_> {
    let decoded: Decoded<'_> = mesh_core::mx::decode(bytes, 1 << 20).unwrap();
    Arrival::new(decoded, bytes, MailboxKind::Mx(Shard(0)), &realm("acme.com"))
}

const SEEN: &str = "drop by it: seen before";
const LATER: &str = "nack MX.EDGE.RATE_LIMITED by it: try again later";

#[tokio::test]
async fn a_repetition_is_caught_by_either_gateway_until_its_mark_ends() {
    let bed = Bed::new();
    bed.passes(0, "shop", "1").await;
    assert_eq!(bed.refuses(1, "shop", "1").await, SEEN);
    assert_eq!(bed.refuses(0, "shop", "1").await, SEEN);
    bed.passes(1, "shop", "2").await;
    bed.passes(1, "bank", "1").await;
    bed.clock.advance(Duration::from_secs(299)).await;
    assert_eq!(bed.refuses(1, "shop", "1").await, SEEN);
    bed.clock.advance(Duration::from_secs(1)).await;
    bed.passes(1, "shop", "1").await;
    assert_eq!((bed.figure(0, "replayed"), bed.figure(1, "replayed")), (1, 2));
}

#[tokio::test]
async fn a_released_mark_lets_a_second_try_pass_and_no_other_mark_go() {
    let bed = Bed::new();
    let first = bed.passes(0, "shop", "1").await;
    bed.release(0, "shop", "1", first).await;
    bed.passes(1, "shop", "1").await;
    // Released again, it is another gateway's.
    bed.release(0, "shop", "1", first).await;
    assert_eq!(bed.refuses(0, "shop", "1").await, SEEN);
}

#[tokio::test]
async fn a_store_that_is_away_lets_nothing_through_and_says_that_later_it_may() {
    let bed = Bed::new();
    bed.passes(0, "shop", "seen").await;
    bed.store.away.store(true, Ordering::Relaxed);
    for id in ["seen", "new"] {
        assert_eq!(bed.refuses(1, "shop", id).await, LATER);
    }
    bed.store.away.store(false, Ordering::Relaxed);
    assert_eq!(bed.refuses(1, "shop", "seen").await, SEEN);
    bed.passes(1, "shop", "new").await;
    assert_eq!(bed.refuses(1, "shop", "new").await, SEEN);
    assert_eq!((bed.figure(1, "store_away"), bed.figure(1, "loose")), (2, 1));
    bed.clock.advance(Duration::from_secs(300)).await;
    assert_eq!(bed.gateways[1].reclaim(Now::of(&bed.clock)), 1);
}

#[tokio::test]
async fn a_store_that_hangs_is_away_after_the_patience() {
    let bed = Bed::new();
    bed.store.hangs.store(true, Ordering::Relaxed);
    let checking = bed.refuses(0, "shop", "1");
    let time = async {
        bed.clock.sleepers(1).await;
        bed.clock.advance(Duration::from_secs(2)).await;
    };
    let (refused, ()) = tokio::join!(checking, time);
    assert_eq!(refused, LATER);
    assert_eq!(bed.clock.asleep(), 0);
}

#[tokio::test]
async fn a_mark_whose_making_was_not_confirmed_is_known_again_once() {
    let bed = Bed::new();
    bed.store.mute.store(true, Ordering::Relaxed);
    assert_eq!(bed.refuses(0, "shop", "1").await, LATER);
    bed.store.mute.store(false, Ordering::Relaxed);
    // Of another gateway it is another's mark.
    assert_eq!(bed.refuses(1, "shop", "1").await, SEEN);
    bed.passes(0, "shop", "1").await;
    assert_eq!(bed.refuses(0, "shop", "1").await, SEEN);
    assert_eq!((bed.figure(0, "retaken"), bed.figure(0, "loose")), (1, 0));
}

#[tokio::test]
async fn a_mark_whose_release_failed_is_known_again_once() {
    let bed = Bed::new();
    let mark = bed.passes(0, "shop", "1").await;
    bed.store.away.store(true, Ordering::Relaxed);
    bed.release(0, "shop", "1", mark).await;
    bed.store.away.store(false, Ordering::Relaxed);
    bed.passes(0, "shop", "1").await;
    assert_eq!(bed.refuses(0, "shop", "1").await, SEEN);
    assert_eq!(bed.figure(0, "unreleased"), 1);
}

#[tokio::test]
async fn a_full_store_refuses_new_ids_and_forgets_no_old_one() {
    let limits = StateLimits { entries: 1, ..StateLimits::default() };
    let bed = Bed::with(limits, &SharedReplayOptions::default());
    bed.passes(0, "shop", "1").await;
    let full = "nack MX.EDGE.RATE_LIMITED by it: too many ids are remembered";
    assert_eq!(bed.refuses(0, "shop", "2").await, full);
    assert_eq!(bed.refuses(1, "shop", "1").await, SEEN);
    assert_eq!((bed.figure(0, "store_full"), bed.figure(0, "loose")), (1, 0));
}

#[tokio::test]
async fn whoever_chooses_that_lets_messages_pass_while_the_store_is_away() {
    let options = SharedReplayOptions { away: StoreAway::Pass, ..<_>::default() };
    let bed = Bed::with(StateLimits::default(), &options);
    bed.store.away.store(true, Ordering::Relaxed);
    assert_eq!(bed.says(0, "shop", "1").await, Verdict::Pass);
    assert_eq!(bed.figure(0, "unchecked"), 1);
}

#[tokio::test]
async fn loose_marks_are_bounded() {
    let loose = Loose::default();
    for number in 0..=loose::MOST {
        loose.leave(StoreKey::new(number.to_string()).unwrap(), Duration::from_secs(1));
    }
    assert_eq!(loose.len(), loose::MOST);
    assert_eq!(loose.reclaim(Duration::from_secs(1)), loose::MOST);
}

#[test]
fn a_key_is_fixed_and_tells_realms_ids_and_answers_apart() {
    let message = |kind, from, msg_id, correlation_id| {
        let mut inbound = Inbound::new(kind);
        (inbound.from_realm, inbound.msg_id, inbound.correlation_id) =
            (from, msg_id, correlation_id);
        inbound
    };
    let of = |local: &str, inbound: Inbound<'_>| Some(key(&realm(local), &inbound)?.to_string());
    let cmd = message(MsgType::Cmd, Some("shop"), Some("m-1"), None);
    // Fixed, since gateways of several versions share it.
    assert_eq!(of("acme.com", cmd).as_deref(), Some(FIXED));
    let mut all = vec![
        of("acme.com", cmd),
        of("acme.co", cmd),
        of("acme.com", message(MsgType::Cmd, Some("shopm"), Some("-1"), None)),
        of("acme.com", message(MsgType::Cmd, None, Some("m-1"), None)),
        of("acme.com", message(MsgType::Result, Some("shop"), None, Some("m-1"))),
        of("acme.com", message(MsgType::Cmd, Some("shop"), Some(""), None)),
    ];
    all.sort();
    all.dedup();
    assert_eq!((all.len(), &all[0]), (6, &None));
    let by_correlation = message(MsgType::Cmd, Some("shop"), None, Some("m-1"));
    assert_eq!(of("acme.com", by_correlation), of("acme.com", cmd));
}

const FIXED: &str = "355651cf99917389db0a51f492be58215f1ddadd";
