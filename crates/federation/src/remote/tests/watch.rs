use mesh_core::mx::{Address, Envelope, MsgType, Party};
use proptest::prelude::*;

use super::super::{Seen, Watch, WatchEnd};
use super::*;
use crate::{OsRandom, Random as _};

const CHANGED: &str = "matrix://shop.example/stock.emits.changed";
const THIRD: Duration = Duration::from_secs(20);
const ID: &str = "0123456789abcdef0123456789abcdef";

/// A watch that has its lease, and what its subscribe was.
async fn watching(bed: &Bed, shop: &mut Shop) -> (Watch, String) {
    let client = bed.client.clone();
    let opening = tokio::spawn(async move { client.watch(CHANGED).await });
    let came = shop.next().await;
    let sink = came.sink();
    shop.grant(bed, &came).await;
    (opening.await.unwrap().unwrap(), sink)
}

impl Came {
    /// What is asked, and with which body.
    fn asks(&self) -> (String, String) {
        let decoded = decode(self.message.payload(), DEFAULT_MAX_BYTES).unwrap();
        let envelope = decoded.into_envelope(&shop()).unwrap();
        assert_eq!(envelope.kind, MsgType::Cmd);
        (envelope.to.path.to_string(), envelope.body.unwrap().to_string())
    }

    fn command(&self) -> String {
        let (path, _) = self.asks();
        path.strip_prefix("_federation.accepts.").unwrap().to_owned()
    }

    fn sink(&self) -> String {
        let (_, body) = self.asks();
        body.split('"').nth(7).unwrap().to_owned()
    }
}

impl Shop {
    async fn expect(&mut self, command: &str) -> Came {
        let came = self.next().await;
        assert_eq!(came.command(), command, "{}", came.text());
        came
    }

    /// What comes next, however long that takes.
    async fn next_in_time(&mut self, bed: &Bed) -> Came {
        loop {
            tokio::select! {
                biased;
                came = self.next() => return came,
                () = settle() => {}
            }
            bed.clock.advance(Duration::from_secs(1)).await;
        }
    }

    async fn grant(&self, bed: &Bed, came: &Came) {
        use mesh_core::port::Clock as _;
        let expires = bed.clock.now().as_millis() + 60_000;
        let body = format!(r#"{{"id":"{ID}","expiresAtMs":{expires}}}"#);
        self.answer(came, Ok(&body)).await;
        settle().await;
    }

    /// An event to a path of ours, as the shop's gateway sends it.
    async fn tell(&self, path: &str, body: &str) {
        let (us, shop) = (us(), shop());
        let to = Address::new(&us, MxPath::new(path).unwrap());
        let mut event = Envelope::new(MsgType::Evt, Party::new(&shop, None), to);
        event.msg_id = Some(OsRandom::new().id().into());
        event.body = Some(json(body));
        self.send(KINDS[1], &us, event.encode().unwrap()).await;
        settle().await;
    }

    async fn notice(&self, sink: &str, body: &str) {
        let path = sink.replace(".emits.event", ".emits.lease-notice");
        self.tell(&path, body).await;
    }
}

/// What is seen by now.
async fn seen(watch: &mut Watch) -> Option<Seen> {
    settle().await;
    tokio::select! {
        biased;
        seen = watch.next() => Some(seen),
        () = settle() => None,
    }
}

async fn missed(watch: &mut Watch) -> u64 {
    match seen(watch).await {
        Some(Seen::Missed { at_least }) => at_least,
        other => panic!("{other:?}"),
    }
}

async fn event(watch: &mut Watch) -> String {
    match seen(watch).await {
        Some(Seen::Event(body)) => body.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_watch_is_a_lease_for_a_sink_that_nobody_can_guess_and_brings_each_event_whole() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let client = bed.client.clone();
    let opening = tokio::spawn(async move { client.watch(CHANGED).await });
    let came = shop.next().await;
    let (path, body) = came.asks();
    assert_eq!(path, "_federation.accepts.subscribe");
    let sink = came.sink();
    let hex = sink.strip_prefix("watch.").unwrap().strip_suffix(".emits.event").unwrap();
    assert_eq!(hex.len(), 32);
    assert_eq!(
        body,
        format!(r#"{{"sourcePath":"stock.emits.changed","sinkPath":"{sink}","leaseMs":60000}}"#)
    );
    assert!(!opening.is_finished());
    shop.grant(&bed, &came).await;
    let mut watch = opening.await.unwrap().unwrap();
    assert!(watch.is_held());
    assert_eq!(watch.uri().to_string(), CHANGED);
    assert!(seen(&mut watch).await.is_none());
    for body in [r#"{"n": 1.0, "n": 1e400}"#, "null", "[ 1 ]"] {
        shop.tell(&sink, body).await;
        assert_eq!(event(&mut watch).await, body);
    }
}

#[tokio::test]
async fn a_lease_is_refreshed_at_each_third_of_its_life() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, _) = watching(&bed, &mut shop).await;
    for _ in 0..5 {
        bed.clock.advance(THIRD - Duration::from_millis(1)).await;
        shop.nothing_came().await;
        bed.clock.advance(Duration::from_millis(1)).await;
        let came = shop.expect("refresh").await;
        assert_eq!(came.asks().1, format!(r#"{{"id":"{ID}","leaseMs":60000}}"#));
        shop.grant(&bed, &came).await;
    }
    assert!(seen(&mut watch).await.is_none(), "all is well");
    assert!(watch.is_held());
}

/// The other realm gives less than was asked for.
#[tokio::test]
async fn a_shorter_lease_is_refreshed_at_a_third_of_that() {
    use mesh_core::port::Clock as _;
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let client = bed.client.clone();
    let opening = tokio::spawn(async move { client.watch(CHANGED).await });
    let came = shop.expect("subscribe").await;
    let expires = bed.clock.now().as_millis() + 30_000;
    shop.answer(&came, Ok(&format!(r#"{{"id":"{ID}","expiresAtMs":{expires}}}"#))).await;
    let _watch = opening.await.unwrap().unwrap();
    settle().await;
    bed.clock.advance(THIRD / 2).await;
    shop.expect("refresh").await;
}

#[tokio::test]
async fn a_lease_that_the_other_realm_does_not_know_is_asked_for_anew() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    bed.clock.advance(THIRD).await;
    let came = shop.expect("refresh").await;
    shop.answer(&came, Err(("MX.SUB.NOT_FOUND", "no lease of this id"))).await;
    settle().await;
    assert!(!watch.is_held());
    assert_eq!(missed(&mut watch).await, 0);
    bed.clock.advance(Duration::from_millis(500)).await;
    let came = shop.expect("subscribe").await;
    assert_eq!(came.sink(), sink, "the same three, so the same lease");
    shop.grant(&bed, &came).await;
    assert!(watch.is_held());
    assert_eq!(missed(&mut watch).await, 0, "up to here");
    shop.tell(&sink, "1").await;
    assert_eq!(event(&mut watch).await, "1");
}

#[tokio::test]
async fn a_realm_that_is_silent_is_asked_until_the_lease_is_over_and_then_for_a_new_one() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    bed.clock.advance(THIRD).await;
    let mut refreshes = 0;
    let came = loop {
        let came = shop.next_in_time(&bed).await;
        match &*came.command() {
            "refresh" => refreshes += 1,
            "subscribe" => break came,
            other => panic!("{other}"),
        }
    };
    assert!(refreshes >= 2, "{refreshes}");
    assert!(!watch.is_held());
    assert_eq!(missed(&mut watch).await, 0);
    shop.grant(&bed, &came).await;
    assert!(watch.is_held());
    assert_eq!(missed(&mut watch).await, 0);
    shop.tell(&sink, "1").await;
    assert_eq!(event(&mut watch).await, "1");
}

#[tokio::test]
async fn a_notice_that_the_lease_has_ended_has_it_asked_for_anew() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    for reason in ["expired", "shutting-down", "a reason of the year 2050"] {
        let body = format!(
            r#"{{"id":"{ID}","sourcePath":"stock.emits.changed","sinkPath":"{sink}","kind":"ended","reason":"{reason}"}}"#
        );
        shop.notice(&sink, &body).await;
        assert!(!watch.is_held());
        assert_eq!(missed(&mut watch).await, 0);
        bed.clock.advance(Duration::from_millis(500)).await;
        let came = shop.expect("subscribe").await;
        shop.grant(&bed, &came).await;
        assert!(watch.is_held());
        assert_eq!(missed(&mut watch).await, 0);
    }
    shop.notice(&sink, r#"{"kind":"missed","atLeast":3}"#).await;
    shop.notice(&sink, r#"{"kind":"missed","atLeast":4}"#).await;
    assert_eq!(missed(&mut watch).await, 7, "told together, since nobody looked");
    shop.notice(&sink, r#"{"kind":"of the year 2050"}"#).await;
    shop.notice(&sink, "[]").await;
    assert!(seen(&mut watch).await.is_none());
    assert!(watch.is_held());
}

#[tokio::test]
async fn what_the_other_realm_refuses_at_once_is_no_watch_and_leaves_nothing() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let before = (bed.local.statistics(), bed.clock.asleep());
    for code in ["MX.SUB.BAD_SOURCE", "MX.EDGE.POLICY_DENIED", "MX.SUB.LIMIT"] {
        let client = bed.client.clone();
        let opening = tokio::spawn(async move { client.watch(CHANGED).await });
        let came = shop.expect("subscribe").await;
        shop.answer(&came, Err((code, "no"))).await;
        let error = opening.await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), format!("{code}: no"));
    }
    let client = bed.client.clone();
    let opening = tokio::spawn(async move { client.watch(CHANGED).await });
    let came = shop.expect("subscribe").await;
    shop.answer(&came, Ok("[]")).await;
    assert!(opening.await.unwrap().unwrap_err().to_string().contains("no lease"));
    drop(shop);
    settle().await;
    let nobody = bed.client.watch(CHANGED).await.unwrap_err();
    assert!(matches!(nobody, RemoteError::Unavailable(_)), "{nobody}");
    let command = bed.client.watch(COUNT).await.unwrap_err();
    assert!(matches!(command, RemoteError::Plane { .. }), "{command}");
    settle().await;
    assert_eq!((bed.local.statistics(), bed.clock.asleep()), before);
}

#[tokio::test]
async fn a_lost_lease_that_is_refused_for_good_ends_the_watch_with_the_reason() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    shop.tell(&sink, "1").await;
    shop.notice(&sink, r#"{"kind":"ended","reason":"source-gone"}"#).await;
    bed.clock.advance(Duration::from_millis(500)).await;
    let came = shop.expect("subscribe").await;
    shop.answer(&came, Err(("MX.SUB.BAD_SOURCE", "gone"))).await;
    settle().await;
    assert_eq!(event(&mut watch).await, "1", "what came before it");
    assert_eq!(missed(&mut watch).await, 0);
    for _ in 0..2 {
        let Some(Seen::Ended(WatchEnd::Refused(error))) = seen(&mut watch).await else {
            panic!("not ended");
        };
        assert_eq!(error.to_string(), "MX.SUB.BAD_SOURCE: gone");
    }
}

#[tokio::test]
async fn a_lease_that_stays_lost_ends_the_watch_when_patience_is_over() {
    let patience = Duration::from_secs(120);
    let bed =
        Bed::with(RealmOptions { patience, ..RealmOptions::default() }, |outside| outside).await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    shop.notice(&sink, r#"{"kind":"ended","reason":"shutting-down"}"#).await;
    drop(shop);
    bed.clock.advance(patience / 2).await;
    assert_eq!(missed(&mut watch).await, 0);
    assert!(seen(&mut watch).await.is_none(), "still trying");
    bed.clock.advance(patience).await;
    let Some(Seen::Ended(WatchEnd::Lost(error))) = seen(&mut watch).await else {
        panic!("not ended");
    };
    assert!(matches!(*error, RemoteError::Unavailable(_)), "{error}");
}

#[tokio::test]
async fn a_dropped_watch_ends_its_lease_and_leaves_nothing() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let before = (bed.local.statistics(), bed.clock.asleep());
    let (watch, _) = watching(&bed, &mut shop).await;
    drop(watch);
    let came = shop.expect("unsubscribe").await;
    assert_eq!(came.asks().1, format!(r#"{{"id":"{ID}"}}"#));
    shop.answer(&came, Ok("null")).await;
    settle().await;
    assert_eq!((bed.local.statistics(), bed.clock.asleep()), before);
    assert_eq!(bed.client.answers().counts().pending, 0);

    // While a refresh is under way, and nobody answers the unsubscribe either.
    let (watch, _) = watching(&bed, &mut shop).await;
    bed.clock.advance(THIRD).await;
    shop.expect("refresh").await;
    drop(watch);
    shop.expect("unsubscribe").await;
    bed.clock.advance(Duration::from_secs(10)).await;
    assert_eq!((bed.local.statistics(), bed.clock.asleep()), before);
    assert_eq!(bed.client.answers().counts().pending, 0);
}

#[tokio::test]
async fn stop_returns_when_the_other_realm_has_ended_the_lease() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    shop.tell(&sink, "1").await;
    let stopping = tokio::spawn(async move {
        watch.stop().await;
        watch
    });
    let came = shop.expect("unsubscribe").await;
    settle().await;
    assert!(!stopping.is_finished());
    shop.answer(&came, Ok("null")).await;
    let mut watch = stopping.await.unwrap();
    assert_eq!(event(&mut watch).await, "1");
    assert!(matches!(seen(&mut watch).await, Some(Seen::Ended(WatchEnd::Stopped))));
    watch.stop().await;
}

#[tokio::test]
async fn a_client_that_closes_ends_its_watches_and_takes_no_more() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let (mut watch, _) = watching(&bed, &mut shop).await;
    let own = bed.client.watch("matrix://home.example/desk.emits.said").await;
    let mut own = own.unwrap();
    let client = bed.client.clone();
    let closing = tokio::spawn(async move { client.close(Duration::from_secs(2)).await });
    let came = shop.expect("unsubscribe").await;
    shop.answer(&came, Ok("null")).await;
    closing.await.unwrap();
    for watch in [&mut watch, &mut own] {
        assert!(matches!(seen(watch).await, Some(Seen::Ended(WatchEnd::Stopped))));
    }
    let after = bed.client.watch(CHANGED).await.unwrap_err();
    assert!(matches!(after, RemoteError::Closed), "{after}");
    let after = bed.client.call(COUNT, &RawJson::NULL).await.unwrap_err();
    assert!(matches!(after, RemoteError::Closed), "{after}");
    drop((watch, own));
    settle().await;
    assert_eq!(bed.clock.asleep(), 0);
}

#[tokio::test]
async fn an_event_of_our_own_realm_is_watched_without_a_lease() {
    let bed = Bed::new().await;
    let said = MxPath::new("desk.emits.said").unwrap();
    let mut watch = bed.client.watch("matrix://home.example/desk.emits.said").await.unwrap();
    assert!(watch.is_held());
    bed.client.emit(&said, &json("[1.0]")).await.unwrap();
    assert_eq!(event(&mut watch).await, "[1.0]");
    watch.stop().await;
    assert!(matches!(seen(&mut watch).await, Some(Seen::Ended(WatchEnd::Stopped))));
}

#[tokio::test]
async fn one_watch_more_than_may_be_is_busy_until_another_has_ended() {
    let options = RealmOptions { watches: 1, ..RealmOptions::default() };
    let bed = Bed::with(options, |outside| outside).await;
    let mut shop = bed.shop().await;
    let (watch, _) = watching(&bed, &mut shop).await;
    let error = bed.client.watch(CHANGED).await.unwrap_err();
    assert!(matches!(error, RemoteError::Busy(_)), "{error}");
    drop(watch);
    let came = shop.expect("unsubscribe").await;
    shop.answer(&came, Ok("null")).await;
    settle().await;
    let (watch, _) = watching(&bed, &mut shop).await;
    assert!(watch.is_held());
}

#[tokio::test]
async fn a_slow_reader_is_told_how_many_events_it_lost() {
    let watch_buffer = std::num::NonZeroUsize::new(4).unwrap();
    let options = RealmOptions { watch_buffer, ..RealmOptions::default() };
    let bed = Bed::with(options, |outside| outside).await;
    let mut shop = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    for n in 0..10 {
        shop.tell(&sink, &n.to_string()).await;
    }
    let (mut events, mut lost) = (0, 0);
    while let Some(seen) = seen(&mut watch).await {
        match seen {
            Seen::Event(_) => events += 1,
            Seen::Missed { at_least } => lost += at_least,
            Seen::Ended(end) => panic!("{end:?}"),
        }
    }
    assert_eq!((events, events + lost), (4, 10));
}

#[tokio::test]
async fn a_legacy_realm_is_subscribed_to_and_heard_in_its_profile() {
    let bed = Bed::new().await;
    bed.client.set_profile(shop(), Profile::Legacy);
    let mut other = bed.shop().await;
    let (mut watch, sink) = watching(&bed, &mut other).await;
    let event_text = format!(
        r#"{{"fromRealm":"shop.example","toPath":"{sink}","correlationId":"e-1","body":[1.0]}}"#
    );
    other.send(KINDS[0], &us(), event_text.into_bytes()).await;
    assert_eq!(event(&mut watch).await, "[1.0]");
    bed.clock.advance(THIRD).await;
    assert_eq!(other.expect("refresh").await.kind, MailboxKind::Legacy);
}

/// What the other realm may do next.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Grant,
    Silent,
    Unknown,
    Unavailable,
    Event,
    Ended,
    Missed,
    Wait,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        Just(Deed::Grant),
        Just(Deed::Silent),
        Just(Deed::Unknown),
        Just(Deed::Unavailable),
        Just(Deed::Event),
        Just(Deed::Ended),
        Just(Deed::Missed),
        Just(Deed::Wait),
    ];
    proptest::collection::vec(deed, 0..40)
}

async fn play(deeds: Vec<Deed>) {
    let patience = Duration::from_secs(1_000_000);
    let bed =
        Bed::with(RealmOptions { patience, ..RealmOptions::default() }, |outside| outside).await;
    let mut shop = bed.shop().await;
    let before = (bed.local.statistics(), bed.clock.asleep());
    let (mut watch, sink) = watching(&bed, &mut shop).await;
    let mut said = 0;
    for deed in deeds {
        match deed {
            Deed::Event => {
                said += 1;
                shop.tell(&sink, &said.to_string()).await;
            }
            Deed::Ended => shop.notice(&sink, r#"{"kind":"ended","reason":"evicted"}"#).await,
            Deed::Missed => shop.notice(&sink, r#"{"kind":"missed","atLeast":1}"#).await,
            Deed::Wait => bed.clock.advance(Duration::from_secs(7)).await,
            answer => {
                let came = shop.next_in_time(&bed).await;
                match answer {
                    Deed::Grant => shop.grant(&bed, &came).await,
                    Deed::Unknown => shop.answer(&came, Err(("MX.SUB.NOT_FOUND", ""))).await,
                    Deed::Unavailable => shop.answer(&came, Err(("MX.SUB.UNAVAILABLE", ""))).await,
                    _ => {}
                }
                settle().await;
            }
        }
    }
    // From here on the other realm does all it should.
    for _ in 0..120 {
        bed.clock.advance(Duration::from_secs(1)).await;
        while let Some(came) = tokio::select! {
            biased;
            came = shop.next() => Some(came),
            () = settle() => None,
        } {
            assert_ne!(came.command(), "unsubscribe");
            shop.grant(&bed, &came).await;
        }
    }
    assert!(watch.is_held());
    said += 1;
    shop.tell(&sink, &said.to_string()).await;
    let mut next = 1;
    while let Some(seen) = seen(&mut watch).await {
        match seen {
            Seen::Event(body) => {
                assert_eq!(body.as_str(), next.to_string(), "in order, each once");
                next += 1;
            }
            Seen::Missed { .. } => {}
            Seen::Ended(end) => panic!("{end:?}"),
        }
    }
    assert_eq!(next, said + 1, "none is missing");
    drop(watch);
    let came = shop.expect("unsubscribe").await;
    shop.answer(&came, Ok("null")).await;
    settle().await;
    assert_eq!((bed.local.statistics(), bed.clock.asleep()), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the other realm does, its lease is held again once it does what it should.
    #[test]
    fn a_watch_recovers_from_whatever_happens_to_its_lease(deeds in deeds()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(play(deeds));
    }
}
