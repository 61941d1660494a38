//! Two gateways of one realm on the buckets of a nats-server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mesh_core::mx::Profile;
use mesh_core::store::KeyValue as _;
use mesh_federation::session::{SessionDirectory, SessionError, SessionLimits};
use serde_json::json;

use crate::place::Server;
use crate::world::{Heard, Mailbox, PRESENCE, World, realm, until};

const MINUTES: u64 = 600_000;

/// Says one number after the other until the sink hears one, and gives all that it heard.
async fn heard_again(world: &World, sink: &mut Mailbox, from: u32) -> (u32, Vec<Heard>) {
    let mut number = from;
    let mut all = Vec::new();
    loop {
        world.says(number).await;
        let wait = tokio::time::sleep(Duration::from_millis(50));
        tokio::pin!(wait);
        loop {
            tokio::select! {
                biased;
                heard = sink.next() => {
                    all.push(heard.clone());
                    if matches!(heard, Heard::Event(n) if n >= from) {
                        // And whatever was said meanwhile.
                        all.extend(if heard == Heard::Event(number) { Vec::new() } else { sink.until(number).await });
                        return (number + 1, all);
                    }
                }
                () = &mut wait => break,
            }
        }
        number += 1;
    }
}

fn numbers(all: &[Heard]) -> Vec<u32> {
    all.iter()
        .filter_map(|heard| match heard {
            Heard::Event(n) => Some(*n),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn leases_go_on_after_their_server_was_killed_and_no_event_comes_twice() {
    let server = Server::start().await;
    let world = World::new();
    let one = world.facade("gw1", server.bucket("gw1").await).await;
    let two = world.facade("gw2", server.bucket("gw2").await).await;
    let mut sink = world.mailbox("shop").await;
    let id = world.subscribe("shop", MINUTES).await.unwrap();
    until("both know it", || async { one.status().leases == 1 && two.status().leases == 1 }).await;
    world.says(1).await;
    assert_eq!(sink.until(1).await, [Heard::Event(1)]);

    // Back before anybody could be missed.
    server.crash().await;
    let (next, all) = heard_again(&world, &mut sink, 2).await;
    let mut once = numbers(&all);
    once.dedup();
    assert_eq!(once, numbers(&all), "came twice: {all:?}");

    // Away for longer than gateways are taken to be there.
    server.server.kill().unwrap();
    until("nobody forwards", || async { !one.status().forwarding && !two.status().forwarding })
        .await;
    world.says(next).await;
    assert!(world.subscribe("other", MINUTES).await.is_err(), "no store, no lease");
    server.server.start().await.unwrap();
    let (next, all) = heard_again(&world, &mut sink, next + 1).await;
    let events = numbers(&all);
    let mut once = events.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once, events, "came twice, or out of order: {all:?}");
    assert!(all.contains(&Heard::Notice("missed".into())), "{all:?}");
    let named = json!({ "id": id });
    world.ask("shop", "refresh", &named).await.unwrap();
    world.says(next).await;
    sink.until(next).await;
    world.ask("shop", "unsubscribe", &named).await.unwrap();
    until("none is left", || async { one.status().leases == 0 && two.status().leases == 0 }).await;
}

#[tokio::test]
async fn a_killed_gateways_leases_are_taken_over_and_the_sink_told() {
    let server = Server::start().await;
    let world = World::new();
    let one = world.facade("gw1", server.bucket("gw1").await).await;
    let mut sink = world.mailbox("shop").await;
    world.subscribe("shop", MINUTES).await.unwrap();
    let two = world.facade("gw2", server.bucket("gw2").await).await;
    assert_eq!((two.status().leases, two.status().sources), (1, 0));
    world.says(1).await;
    assert_eq!(sink.until(1).await, [Heard::Event(1)]);
    // Dropped, it tells nobody.
    drop(one);
    let (next, all) = heard_again(&world, &mut sink, 2).await;
    assert!(all.contains(&Heard::Notice("missed".into())), "{all:?}");
    assert_eq!(two.status().counts.adopted, 1);
    // Started again under its name it takes nothing back, and both go on.
    let one = world.facade("gw1", server.bucket("gw1").await).await;
    for number in next..next + 20 {
        world.says(number).await;
        assert_eq!(sink.until(number).await, [Heard::Event(number)]);
    }
    assert_eq!((one.status().sources, two.status().sources), (0, 1));
    // One that closes hands over at once.
    two.close(Duration::from_secs(5)).await;
    heard_again(&world, &mut sink, next + 20).await;
    assert_eq!(one.status().counts.adopted, 1);
}

#[tokio::test]
async fn leases_and_gateways_outlive_a_kill_of_everything() {
    let server = Server::start().await;
    let world = World::new();
    let one = world.facade("gw1", server.bucket("gw1").await).await;
    let mut sink = world.mailbox("shop").await;
    world.subscribe("shop", MINUTES).await.unwrap();
    drop(one);
    server.crash().await;
    let one = world.facade("gw1", server.bucket("gw1").await).await;
    assert_eq!(one.status().leases, 1);
    let (_, all) = heard_again(&world, &mut sink, 1).await;
    assert!(all.contains(&Heard::Notice("missed".into())), "{all:?}");
    assert_eq!(numbers(&all)[0], 1, "{all:?}");
}

#[tokio::test]
async fn sessions_are_shared_and_outlive_their_server() {
    let server = Server::start().await;
    let world = World::new();
    let open = |who: &'static str| {
        let (clock, bucket) = (Arc::clone(&world.clock), server.bucket(who));
        async move {
            let store = Arc::new(bucket.await);
            SessionDirectory::open(clock, SessionLimits::default(), Some(store)).await.unwrap()
        }
    };
    let (one, two) = (open("gw1").await, open("gw2").await);
    let tab = realm("tab");
    one.register("ada", &tab, Profile::Legacy).await.unwrap();
    until("the other knows it", || async { two.lookup("ada").len() == 1 }).await;
    // Noted by one, kept by the other, which may not have heard of it.
    one.register("bob", &tab, Profile::MxEnv1).await.unwrap();
    let kept = two.heartbeat("bob", &tab).await.unwrap();
    assert_eq!(kept.profile, Profile::MxEnv1);

    server.server.kill().unwrap();
    let refused = one.heartbeat("ada", &tab).await.unwrap_err();
    assert!(matches!(refused, SessionError::Store(_)), "{refused}");
    assert_eq!(one.lookup("ada").len(), 1, "what is known is told");
    server.server.start().await.unwrap();
    until("it is back", || async { one.heartbeat("ada", &tab).await.is_ok() }).await;
    // Both hear of each other again.
    two.register("eve", &tab, Profile::Legacy).await.unwrap();
    until("the one hears", || async { one.lookup("eve").len() == 1 }).await;
    let anew = open("gw1").await;
    for who in ["ada", "bob", "eve"] {
        assert_eq!(anew.lookup(who).len(), 1, "{who}");
    }
}

#[tokio::test]
async fn what_anybody_wrote_into_the_bucket_harms_nobody() {
    let server = Server::start().await;
    let world = World::new();
    let bucket = server.bucket("gw2").await;
    for (key, value) in [
        ("lease.00000000000000000000000000000000", "{}"),
        ("lease.zz", "1"),
        ("lease.ffffffffffffffffffffffffffffffff", "\u{0}"),
        ("gateway.gw1", "no json"),
        ("gateway.gw9", r#"{"v":1,"epoch":""}"#),
        ("session.00000000000000000000000000000000", "[]"),
    ] {
        let lifetime = Duration::from_secs(60);
        let key = mesh_core::store::StoreKey::new(key).unwrap();
        let expected = mesh_core::store::Expected::Any;
        let _ = bucket.write(&key, value.to_owned().into(), lifetime, expected).await.unwrap();
    }
    let one = world.facade("gw1", server.bucket("gw1").await).await;
    let mut sink = world.mailbox("shop").await;
    world.subscribe("shop", MINUTES).await.unwrap();
    world.says(1).await;
    assert_eq!(sink.until(1).await, [Heard::Event(1)]);
    assert!(one.status().counts.unreadable >= 2, "{:?}", one.status());
}

/// Servers and gateways are killed, stopped for a while and started again, while something is said all the
/// time: nothing comes twice, and what is missing is told before the next that comes.
#[tokio::test]
async fn whatever_is_killed_no_event_comes_twice_or_is_missed_in_silence() {
    let server = Server::start().await;
    let world = Arc::new(World::new());
    let mut sink = world.mailbox("shop").await;
    let mut gateways = [
        Some(world.facade("gw1", server.bucket("gw1").await).await),
        Some(world.facade("gw2", server.bucket("gw2").await).await),
    ];
    world.subscribe("shop", 3_600_000).await.unwrap();
    let said = Arc::new(AtomicU32::new(0));
    let (speaker, count) = (Arc::clone(&world), Arc::clone(&said));
    let speaking = tokio::spawn(async move {
        loop {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            speaker.says(number).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let (mut last, mut told) = (0, true);
    for step in [
        "crash", "drop 0", "start 0", "pause", "away", "drop 1", "crash", "start 1", "close 0",
        "start 0", "pause", "drop 0", "away", "start 0",
    ] {
        match step {
            "crash" => server.crash().await,
            "pause" => {
                server.server.pause().unwrap();
                tokio::time::sleep(PRESENCE + PRESENCE / 3).await;
                server.server.resume().unwrap();
            }
            "away" => {
                server.server.kill().unwrap();
                tokio::time::sleep(PRESENCE + PRESENCE / 3).await;
                server.server.start().await.unwrap();
            }
            other => {
                let (verb, which) = other.split_once(' ').unwrap();
                let which: usize = which.parse().unwrap();
                let name = ["gw1", "gw2"][which];
                match verb {
                    "drop" => {
                        gateways[which].take();
                    }
                    "close" => {
                        gateways[which].take().unwrap().close(Duration::from_secs(5)).await;
                    }
                    _ => {
                        let bucket = server.bucket(name).await;
                        gateways[which] = Some(world.facade(name, bucket).await);
                    }
                }
            }
        }
        let from = said.load(Ordering::SeqCst);
        while last <= from {
            match sink.next().await {
                Heard::Event(number) => {
                    assert!(number > last, "{step}: {number} came after {last}");
                    assert!(
                        number == last + 1 || told,
                        "{step}: {last} and then {number}, and no word"
                    );
                    (last, told) = (number, false);
                }
                Heard::Notice(what) => {
                    assert_eq!(what, "missed", "{step}");
                    told = true;
                }
            }
        }
    }
    speaking.abort();
    for gateway in gateways.iter().flatten() {
        assert_eq!(gateway.status().leases, 1);
    }
    assert_eq!(gateways.iter().flatten().map(|gateway| gateway.status().sources).sum::<usize>(), 1);
}
