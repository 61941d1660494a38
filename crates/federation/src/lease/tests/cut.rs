//! Gateways that can't reach the store, or others, for a while.

use super::ground::{Ground, json, mx, settle};
use super::reached::Reached;
use super::shared::{
    REFRESH, SOURCE, STOCK, SUBSCRIBE, UNSUBSCRIBE, begin, by_id, kept, kinds, state, subscribed,
    subscribed_at,
};
use super::*;

#[tokio::test]
async fn a_gateway_cut_off_from_the_store_stops_before_another_takes_over() {
    let ground = Ground::new();
    let store = state(&ground);
    let (first, second) = (Reached::new(&store), Reached::new(&store));
    let one = begin(&ground, "g1", &first).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    ground
        .ask(
            SUBSCRIBE,
            Some(mx("shop")),
            r#"{"sourcePath": "stock.emits.changed",
        "sinkPath": "window.emits.stock", "leaseMs": 3600000}"#,
        )
        .await
        .unwrap();
    let two = begin(&ground, "g2", &second).await;
    first.set(true);
    let mut events = 0;
    let mut got = Vec::new();
    for second in 0..40 {
        ground.emit(SOURCE, &second.to_string()).await;
        events += 1;
        ground.pass(1).await;
        got.extend(shop.all().await);
    }
    let numbers: Vec<u32> = got.iter().filter_map(|got| got.body.parse().ok()).collect();
    let mut unique = numbers.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(numbers, unique, "none twice, and in order");
    assert!(numbers.len() >= events - 16, "{numbers:?}");
    assert!(kinds(&got).iter().all(|kind| matches!(kind, NoticeKind::Missed(_))));
    assert!(!one.status().forwarding && two.status().forwarding);
    // Back again it keeps nothing, and takes part.
    first.set(false);
    ground.pass(20).await;
    shop.all().await;
    assert!(one.status().forwarding);
    ground.emit(SOURCE, "100").await;
    assert_eq!(shop.bodies().await, ["100"]);
    assert_eq!((one.status().sources, two.status().sources), (0, 1));
    assert!(one.status().counts.store_failures > 0);
}

#[tokio::test]
async fn while_the_store_is_away_nobody_subscribes_and_nothing_is_left() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let facade = begin(&ground, "g1", &store).await;
    store.set(true);
    let fault = ground.ask(SUBSCRIBE, Some(mx("shop")), STOCK).await.unwrap_err();
    assert_eq!(fault.code, codes::UNAVAILABLE);
    settle().await;
    assert_eq!((facade.status().leases, facade.status().sources), (0, 0));
    store.set(false);
    subscribed(&ground, mx("shop")).await;
    assert_eq!((facade.status().leases, facade.status().sources), (1, 1));
}

#[tokio::test]
async fn an_end_is_told_once_whoever_of_the_gateways_tells_it() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let facades = [
        begin(&ground, "g1", &store).await,
        begin(&ground, "g2", &store).await,
        begin(&ground, "g3", &store).await,
    ];
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    subscribed(&ground, mx("shop")).await;
    ground.pass(70).await;
    assert_eq!(kinds(&shop.all().await), [NoticeKind::Ended(EndReason::Expired)]);
    // Its keeper dies just before the end.
    let id: LeaseId = subscribed(&ground, mx("shop")).await.parse().unwrap();
    ground.pass(58).await;
    let [one, two, three] = facades;
    let keeper = one.lease(id).unwrap().keeper;
    let mut left = Vec::new();
    for (name, facade) in [("g1", one), ("g2", two), ("g3", three)] {
        if keeper.starts_with(name) {
            drop(facade);
        } else {
            left.push(facade);
        }
    }
    for _ in 0..10 {
        ground.pass(5).await;
    }
    let told = kinds(&shop.all().await);
    assert_eq!(told, [NoticeKind::Ended(EndReason::Expired)]);
    for facade in left {
        assert_eq!((facade.status().leases, facade.status().sources), (0, 0));
    }
}

/// Found by a seed: unsubscribed and subscribed again through another gateway, while the lease's keeper is
/// cut off from the store, both would forward.
#[tokio::test]
async fn a_lease_is_not_given_anew_while_its_former_keeper_may_still_forward() {
    let ground = Ground::new();
    let store = state(&ground);
    let (first, second) = (Reached::new(&store), Reached::new(&store));
    let one = begin(&ground, "g1", &first).await;
    let two = begin(&ground, "g2", &second).await;
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    let id = subscribed_at(&one, "shop").await;
    first.set(true);
    let call = |command: &str, body: &str| {
        let mut call = crate::Call::new(path(command), json(body));
        call.remote = Some(crate::Remote::new(realm("shop"), Profile::MxEnv1));
        call
    };
    two.desk().0.unsubscribe(call(UNSUBSCRIBE, &by_id(&id))).await.unwrap();
    let again = two.desk().0.unsubscribe(call(UNSUBSCRIBE, &by_id(&id))).await.unwrap_err();
    assert_eq!(again.code, codes::NOT_FOUND);
    let late = two.desk().0.refresh(call(REFRESH, &by_id(&id))).await.unwrap_err();
    assert_eq!(late.code, codes::NOT_FOUND);
    // It waits for its keeper, and then says that it could not be done now.
    let inner = two.desk().0;
    let asking = tokio::spawn(inner.subscribe(call(SUBSCRIBE, STOCK)));
    for _ in 0..4 {
        ground.pass(1).await;
    }
    assert_eq!(asking.await.unwrap().unwrap_err().code, codes::UNAVAILABLE);
    // Its keeper stops by itself; then there is a new one.
    ground.pass(20).await;
    subscribed_at(&two, "shop").await;
    first.set(false);
    shop.all().await;
    ground.emit(SOURCE, "1").await;
    let got = shop.all().await;
    let events: Vec<_> = got.iter().filter(|got| got.path == "window.emits.stock").collect();
    assert_eq!((events.len(), &*events[0].body), (1, "1"));
    ground.pass(20).await;
    assert_eq!((one.status().sources, two.status().sources), (0, 1));
}

#[tokio::test]
async fn what_is_ended_through_another_gateway_its_keeper_takes_away() {
    let ground = Ground::new();
    let store = Reached::new(&state(&ground));
    let (one, two) = (begin(&ground, "g1", &store).await, begin(&ground, "g2", &store).await);
    let mut shop = ground.mailbox("shop", Profile::MxEnv1).await;
    let id: LeaseId = subscribed_at(&one, "shop").await.parse().unwrap();
    assert!(two.evict(id).await);
    settle().await;
    assert_eq!(kinds(&shop.all().await), [NoticeKind::Ended(EndReason::Evicted)]);
    assert_eq!((one.status().leases, two.status().leases, kept(&[&one, &two])), (0, 0, 0));
    // The signs of the two gateways are all that is left.
    assert_eq!(store.inner.usage().entries, 2);
    subscribed_at(&two, "shop").await;
    assert_eq!((one.status().sources, two.status().sources), (0, 1));
}
