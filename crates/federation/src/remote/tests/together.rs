//! Two realms, each whole: client, gateway and facade.

use std::sync::atomic::{AtomicU64, Ordering};

use mesh_core::guard::PrefixDeny;
use mesh_core::mx::EdgeCode;

use super::super::Seen;
use super::*;
use crate::{Call, OsRandom};

/// A backbone of each kind: without wildcards and groups, and with them.
enum Ground {
    Exact(InMemoryExactBroker),
    Filter(InMemoryFilterBroker),
}

struct Two {
    clock: ManualClock,
    ground: Ground,
    home: RealmClient,
    shop: RealmClient,
}

impl Ground {
    fn connect(&self, name: &str) -> Connection {
        match self {
            Self::Exact(broker) => broker.connect(gateway(name)),
            Self::Filter(broker) => broker.connect(gateway(name)),
        }
    }

    async fn realm(&self, clock: &ManualClock, realm: RealmName) -> RealmClient {
        let local = InMemoryFilterBroker::new(Arc::new(clock.clone()));
        let outside = ResolvedClient::new(self.connect("g1"));
        let mut config = EdgeConfig::new(realm);
        config.rules = config.rules.policy(PrefixDeny::new(["till"]));
        let options = RealmOptions { random: Arc::new(OsRandom::new()), ..RealmOptions::default() };
        let inside = local.connect(gateway("g1"));
        RealmClient::start(config, outside, inside, options).await.unwrap()
    }
}

impl Two {
    async fn each() -> [Self; 2] {
        [Self::on(true).await, Self::on(false).await]
    }

    async fn on(exact: bool) -> Self {
        let clock = ManualClock::new();
        let time = Arc::new(clock.clone());
        let ground = match exact {
            true => Ground::Exact(InMemoryExactBroker::new(time)),
            false => Ground::Filter(InMemoryFilterBroker::new(time)),
        };
        let home = ground.realm(&clock, us()).await;
        let shop = ground.realm(&clock, shop()).await;
        Self { clock, ground, home, shop }
    }
}

async fn next(watch: &mut super::super::Watch) -> Seen {
    tokio::select! {
        biased;
        seen = watch.next() => seen,
        () = async { for _ in 0..64 { settle().await } } => panic!("nothing is seen"),
    }
}

fn count() -> MxPath<'static> {
    MxPath::new("stock.accepts.count").unwrap()
}

#[tokio::test]
async fn a_component_of_another_realm_is_called_in_both_profiles() {
    for two in Two::each().await {
        let handler = |call: Call| async move {
            let remote = call.remote.ok_or(Fault::new("STOCK.LOCAL", "from inside"))?;
            assert_eq!(remote.realm, us());
            assert_eq!(remote.principal_key.as_deref(), Some("ada"));
            let trace = (remote.profile == Profile::MxEnv1).then(|| "t-1".to_owned());
            assert_eq!(remote.trace_id, trace);
            Ok(call.params)
        };
        let _counting = two.shop.accept(count(), handler).await.unwrap();
        let options = CallOptions {
            principal: Some(json(r#""ada""#).into_owned()),
            trace_id: Some("t-1".to_owned()),
            ..CallOptions::default()
        };
        for profile in Profile::ALL.iter().copied() {
            two.home.set_profile(shop(), profile);
            let body = json(r#"{"n": 1.0, "m": 1e400}"#);
            let uri = MxUri::parse(COUNT).unwrap();
            let answer = two.home.call_with(&uri, &body, &options).await.unwrap();
            assert_eq!(answer, body);
        }
        let inside = two.shop.call(COUNT, &RawJson::NULL).await.unwrap_err();
        assert_eq!(inside.to_string(), "STOCK.LOCAL: from inside");
        let denied = two.home.call("matrix://shop.example/till.accepts.open", &RawJson::NULL).await;
        assert_eq!(denied.unwrap_err().edge_code(), Some(EdgeCode::PolicyDenied));
        let closed = two.home.call("matrix://shop.example/_edge.accepts.x", &RawJson::NULL).await;
        assert!(matches!(closed.unwrap_err(), RemoteError::Refused { .. }));
    }
}

#[tokio::test]
async fn the_events_of_another_realm_are_watched_and_a_closed_source_is_refused() {
    for two in Two::each().await {
        let changed = MxPath::new("stock.emits.changed").unwrap();
        let uri = "matrix://shop.example/stock.emits.changed";
        for profile in Profile::ALL.iter().copied() {
            two.home.set_profile(shop(), profile);
            let mut watch = two.home.watch(uri).await.unwrap();
            assert_eq!(two.shop.watched().unwrap().leases, 1);
            for body in ["[1.0]", "null", r#"{"a": 1e400}"#] {
                two.shop.emit(&changed, &json(body)).await.unwrap();
                let Seen::Event(event) = next(&mut watch).await else { panic!("no event") };
                assert_eq!(event.as_str(), body);
            }
            // Through five lives of its lease, on refreshes alone.
            for _ in 0..60 {
                two.clock.advance(Duration::from_secs(5)).await;
            }
            two.shop.emit(&changed, &json("2")).await.unwrap();
            assert!(matches!(next(&mut watch).await, Seen::Event(_)), "and nothing was missed");
            watch.stop().await;
            assert_eq!(two.shop.watched().unwrap().leases, 0);
        }
        let own = two.home.watch("matrix://shop.example/_secret.emits.x").await.unwrap_err();
        assert!(own.to_string().starts_with("MX.SUB.BAD_SOURCE"), "{own}");
    }
}

#[tokio::test]
async fn a_watch_outlives_the_realm_that_it_watches() {
    for two in Two::each().await {
        let Two { clock, ground, home, shop: first } = two;
        let changed = MxPath::new("stock.emits.changed").unwrap();
        let mut watch = home.watch("matrix://shop.example/stock.emits.changed").await.unwrap();
        let closing = tokio::spawn(async move { first.close(Duration::from_secs(1)).await });
        assert!(matches!(next(&mut watch).await, Seen::Missed { .. }), "it was told");
        clock.advance(Duration::from_secs(2)).await;
        closing.await.unwrap();
        assert!(!watch.is_held());
        clock.advance(Duration::from_secs(40)).await;
        assert!(!watch.is_held());

        let second = ground.realm(&clock, shop()).await;
        for _ in 0..40 {
            clock.advance(Duration::from_secs(1)).await;
        }
        assert!(watch.is_held());
        second.emit(&changed, &json("3")).await.unwrap();
        assert!(matches!(next(&mut watch).await, Seen::Missed { .. }));
        let Seen::Event(event) = next(&mut watch).await else { panic!("no event") };
        assert_eq!(event.as_str(), "3");
    }
}

/// The strangler: the publishing profile of a realm is switched live and back under traffic.
#[tokio::test]
async fn no_call_is_lost_or_handled_twice_while_the_profile_is_switched() {
    for two in Two::each().await {
        let handled = Arc::new(AtomicU64::new(0));
        let handler = {
            let handled = Arc::clone(&handled);
            move |call: Call| {
                handled.fetch_add(1, Ordering::SeqCst);
                async { Ok(call.params) }
            }
        };
        let _counting = two.shop.accept(count(), handler).await.unwrap();
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..40_u64 {
            let profile = Profile::ALL[usize::from(n % 20 >= 10)];
            two.home.set_profile(shop(), profile);
            let home = two.home.clone();
            calls.spawn(async move {
                let body = RawJson::new(n.to_string()).unwrap();
                assert_eq!(home.call(COUNT, &body).await.unwrap(), body);
            });
            tokio::task::yield_now().await;
        }
        while let Some(call) = calls.join_next().await {
            call.unwrap();
        }
        assert_eq!(handled.load(Ordering::SeqCst), 40);
        assert_eq!(two.home.answers().counts().matched, 40);
    }
}

/// A realm's answers are no load that it chose: who asks it faster than its own gateway lets others in hears
/// each answer, and each refusal.
#[tokio::test]
async fn however_many_are_asked_at_once_each_is_answered_or_refused() {
    for two in Two::each().await {
        let handler = |call: Call| async move { Ok(call.params) };
        let _counting = two.shop.accept(count(), handler).await.unwrap();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..300 {
            let home = two.home.clone();
            calls.spawn(async move { home.call(COUNT, &RawJson::NULL).await });
        }
        for _ in 0..64 {
            settle().await;
        }
        assert_eq!(two.home.answers().counts().pending, 0);
        let mut answered = 0;
        while let Some(called) = calls.join_next().await {
            match called.unwrap() {
                Ok(_) => answered += 1,
                Err(error) => assert_eq!(error.edge_code(), Some(EdgeCode::RateLimited), "{error}"),
            }
        }
        assert_eq!(answered, 100);
    }
}

/// Events are said faster than the watcher's own gateway lets them in.
#[tokio::test]
async fn a_watch_is_told_of_events_that_its_own_gateway_refuses() {
    for two in Two::each().await {
        let changed = MxPath::new("stock.emits.changed").unwrap();
        let mut watch = two.home.watch("matrix://shop.example/stock.emits.changed").await.unwrap();
        for n in 0..300 {
            two.shop.emit(&changed, &json(&n.to_string())).await.unwrap();
        }
        let (mut seen, mut lost) = (0, 0);
        while seen + lost < 300 {
            match next(&mut watch).await {
                Seen::Event(_) => seen += 1,
                Seen::Missed { at_least } => lost += at_least,
                Seen::Ended(end) => panic!("{end:?}"),
            }
        }
        assert_eq!((seen, lost), (100, 200));
        watch.stop().await;
    }
}

#[tokio::test]
async fn a_realm_that_is_closed_leaves_nothing() {
    for two in Two::each().await {
        let _watch = two.home.watch("matrix://shop.example/stock.emits.changed").await.unwrap();
        let closing = |client: RealmClient| {
            tokio::spawn(async move { client.close(Duration::from_secs(1)).await })
        };
        let home = closing(two.home.clone());
        settle().await;
        two.clock.advance(Duration::from_secs(4)).await;
        home.await.unwrap();
        let shop = closing(two.shop.clone());
        settle().await;
        two.clock.advance(Duration::from_secs(4)).await;
        shop.await.unwrap();
        drop((two.home, two.shop, _watch));
        settle().await;
        let left = match &two.ground {
            Ground::Exact(broker) => broker.statistics(),
            Ground::Filter(broker) => broker.statistics(),
        };
        assert_eq!((left.subscriptions, two.clock.asleep()), (0, 0));
    }
}
