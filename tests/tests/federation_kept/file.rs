//! One gateway with a file.

use std::path::Path;
use std::sync::Arc;

use mesh_core::mx::Profile;
use mesh_federation::session::{SessionDirectory, SessionLimits};
use mesh_store::{BucketBounds, Store, StoreOptions};
use serde_json::json;

use crate::world::{Heard, PRESENCE, World, realm, until};

async fn open(world: &World, folder: &Path) -> Store {
    let clock = Arc::clone(&world.clock);
    Store::open(folder.join("state"), clock, StoreOptions::default()).await.unwrap()
}

async fn bucket(store: &Store, name: &str) -> mesh_store::StoreBucket {
    store.key_value(&name.parse().unwrap(), BucketBounds::default()).await.unwrap()
}

#[tokio::test]
async fn leases_in_a_file_outlive_the_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new();
    let mut sink = world.mailbox("shop").await;
    let store = open(&world, folder.path()).await;
    let facade = world.facade("gw1", bucket(&store, "leases").await).await;
    let id = world.subscribe("shop", 600_000).await.unwrap();
    let short = world.subscribe("brief", 100).await.unwrap();
    world.says(1).await;
    assert_eq!(sink.until(1).await, [Heard::Event(1)]);
    // As a kill does, but for the file's lock.
    drop(facade);
    store.close().await;
    drop(store);
    world.says(2).await;
    tokio::time::sleep(std::time::Duration::from_millis(150)).await;

    let mut brief = world.mailbox("brief").await;
    let store = open(&world, folder.path()).await;
    let facade = world.facade("gw1", bucket(&store, "leases").await).await;
    assert_eq!(brief.next().await, Heard::Notice("expired".into()));
    world.says(3).await;
    assert_eq!(sink.until(3).await, [Heard::Notice("missed".into()), Heard::Event(3)]);
    let refused = world.ask("brief", "refresh", &json!({ "id": short })).await;
    assert_eq!(refused, Err("MX.SUB.NOT_FOUND".to_owned()));
    world.ask("shop", "refresh", &json!({ "id": id })).await.unwrap();
    // The presence is renewed.
    tokio::time::sleep(PRESENCE + PRESENCE / 2).await;
    world.says(4).await;
    assert_eq!(sink.until(4).await, [Heard::Event(4)]);

    // The file goes: nothing is forwarded that could be doubled, and nothing is promised.
    store.close().await;
    until("it stops", || async { !facade.status().forwarding }).await;
    assert_eq!(world.subscribe("late", 600_000).await, Err("MX.SUB.UNAVAILABLE".to_owned()));
}

#[tokio::test]
async fn sessions_in_a_file_outlive_the_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new();
    let store = open(&world, folder.path()).await;
    let directory = |store: Arc<mesh_store::StoreBucket>| {
        let clock = Arc::clone(&world.clock);
        async move {
            SessionDirectory::open(clock, SessionLimits::default(), Some(store)).await.unwrap()
        }
    };
    let sessions = directory(Arc::new(bucket(&store, "sessions").await)).await;
    let tab = realm("tab");
    for number in 0..200 {
        sessions.register(&format!("p{number}"), &tab, Profile::Legacy).await.unwrap();
    }
    drop(sessions);
    store.close().await;
    drop(store);
    let store = open(&world, folder.path()).await;
    let sessions = directory(Arc::new(bucket(&store, "sessions").await)).await;
    assert_eq!(sessions.status().sessions, 200);
    let kept = sessions.heartbeat("p7", &tab).await.unwrap();
    assert_eq!(kept.profile, Profile::Legacy);
    assert_eq!(sessions.lookup("p7").len(), 1);
}
