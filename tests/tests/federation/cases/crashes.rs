//! Brokers that are killed amid steady traffic: what was under way may be lost, nothing comes twice, nothing
//! is left behind, and what may be missing is told.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use mesh_clock::SystemClock;
use mesh_core::json::RawJson;
use mesh_core::mx::Profile;
use mesh_federation::lease::{FederationFacade, FederationOptions};
use mesh_federation::{Call, ComponentHost, HostOptions, Seen};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::old::Old;
use crate::ground::{Ground, Realm, RealmPlan};
use crate::home::{Home, path, until};
use crate::peer::PATIENCE;

const SOURCE: &str = "desk.emits.said";
const GREET: &str = "desk.accepts.greet";

/// A watch goes on over two kills of the backbone's server: events keep their order, none comes twice, and
/// before any that comes after one that is missing the watcher is told.
pub(super) async fn a_watch_goes_on_after_a_kill_and_tells_the_gap(ground: Ground) {
    let plans = vec![
        RealmPlan::new("acme.com").guarded().emits(SOURCE),
        RealmPlan::new("matrix-3").guarded(),
    ];
    let field = ground.raise(plans, Arc::new(SystemClock::new())).await;
    let home = Home::start(field.realm(0)).await;
    let host = HostOptions::default();
    let host =
        ComponentHost::new(home_name(&field.realms[0]), field.realm(0).gateway.clone(), host);
    let backbone = field.realm(0).between.clone();
    let facade =
        FederationFacade::start(&host, backbone, FederationOptions::default()).await.unwrap();
    let sink = Home::start(field.realm(1)).await;
    let mut watch = sink.client.watch(&format!("matrix://acme.com/{SOURCE}")).await.unwrap();

    let said = Arc::new(AtomicU32::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let mut talking = JoinSet::new();
    let (client, count, end) = (home.client.clone(), Arc::clone(&said), Arc::clone(&over));
    talking.spawn(async move {
        while !end.load(Ordering::SeqCst) {
            let number = count.load(Ordering::SeqCst) + 1;
            // Where the bus is away as well, nothing was said.
            let body = RawJson::new(number.to_string()).unwrap();
            count.store(number, Ordering::SeqCst);
            let _ = client.emit(&path(SOURCE), &body).await;
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    });
    let mut last = 0;
    let mut told = false;
    let mut gaps = 0;
    for crash in 0..3 {
        let from = said.load(Ordering::SeqCst);
        let mut more = 0;
        while more < 10 {
            match tokio::time::timeout(PATIENCE, watch.next()).await.expect("nothing is seen") {
                Seen::Event(body) => {
                    let number: u32 = body.to().unwrap();
                    assert!(number > last, "{number} came after {last}");
                    assert!(number == last + 1 || told, "{last} and then {number}, and no word");
                    (last, told) = (number, false);
                    more += u32::from(number > from);
                }
                Seen::Missed { .. } => {
                    told = true;
                    gaps += 1;
                }
                Seen::Ended(end) => panic!("after crash {crash}: {end:?}"),
            }
        }
        if crash < 2 {
            field.crash().await;
        }
    }
    over.store(true, Ordering::SeqCst);
    while let Some(done) = talking.join_next().await {
        done.unwrap();
    }
    assert!(gaps > 0);
    assert!(home.gateway.status().is_healthy() && sink.gateway.status().is_healthy());
    watch.stop().await;
    until("no lease", || async { facade.status().leases == 0 }).await;
    facade.close(PATIENCE).await;
    for home in [home, sink] {
        until("nothing pends", || async {
            home.gateway.status().under_way == 0 && home.client.answers().counts().pending == 0
        })
        .await;
        home.client.close(PATIENCE).await;
        home.gateway.close(PATIENCE).await;
    }
}

fn home_name(realm: &Realm) -> mesh_core::name::RealmName {
    realm.name.clone()
}

/// The realm's own bus is killed and comes back, while the backbone stays: each question is answered once,
/// with its answer or a code, no component is asked twice, and afterwards all is served again.
pub(super) async fn a_bus_that_is_killed_leaves_no_question_open(ground: Ground) {
    let plans =
        || vec![RealmPlan::new("acme.com").guarded().accepts(GREET), RealmPlan::new("matrix-3")];
    // The backbone of one field, and the bus of another.
    let outside = Ground::Memory.raise(plans(), Arc::new(SystemClock::new())).await;
    let inside = ground.raise(plans(), Arc::new(SystemClock::new())).await;
    let (between, bus) = (outside.realm(0), inside.realm(0));
    let realm = Realm {
        name: between.name.clone(),
        kinds: between.kinds.clone(),
        between: between.between.clone(),
        sibling: between.sibling.clone(),
        gateway: bus.gateway.clone(),
        app: bus.app.clone(),
    };
    let mut home = Home::start(&realm).await;
    let handled = Arc::<Mutex<HashMap<String, u32>>>::default();
    let count = Arc::clone(&handled);
    home.accepts(GREET, move |call: Call| {
        *count.lock().entry(call.params.to().unwrap()).or_default() += 1;
        async move { Ok(call.params) }
    })
    .await;
    let mut readers = JoinSet::new();
    let peer = Old::start(outside.realm(1), &mut readers).await;
    let over = Arc::new(AtomicBool::new(false));
    let good = Arc::new(AtomicU32::new(0));
    let mut asking = JoinSet::new();
    for asker in 0..2 {
        let (peer, name) = (peer.clone(), realm.name.clone());
        let (over, good) = (Arc::clone(&over), Arc::clone(&good));
        asking.spawn(async move {
            let mut asked = 0;
            while !over.load(Ordering::SeqCst) {
                let profile = [Profile::Legacy, Profile::MxEnv1][asked as usize % 2];
                let id = format!("{asker}-{asked}");
                asked += 1;
                good.fetch_add(
                    u32::from(peer.ask(&name, GREET, &id, profile).await),
                    Ordering::SeqCst,
                );
                // Within the rate of a realm.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            asked
        });
    }
    let goes_on = async || {
        let before = good.load(Ordering::SeqCst);
        until("it is served", || async { good.load(Ordering::SeqCst) >= before + 10 }).await;
    };
    goes_on().await;
    for _ in 0..2 {
        inside.crash().await;
        goes_on().await;
    }
    over.store(true, Ordering::SeqCst);
    let mut asked = 0;
    while let Some(done) = asking.join_next().await {
        asked += done.unwrap();
    }
    until("all are answered", || async { peer.seen(|seen| seen.answered.len()) == asked as usize })
        .await;
    peer.seen(|seen| {
        let once = seen.answered.values().all(|(times, _)| *times == 1);
        assert!(once, "{:?}", seen.answered);
    });
    assert!(handled.lock().values().all(|times| *times == 1));
    assert!(home.gateway.status().is_healthy());
    home.close().await;
}
