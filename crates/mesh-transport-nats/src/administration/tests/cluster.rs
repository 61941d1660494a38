//! On three servers, where everything takes a vote.

use std::time::{Duration, Instant};

use mesh_core::port::{Administration as _, Drift, DriftMode};
use mesh_core::topology::{StreamName, Topology};
use mesh_testkit::servers::nats::{Cluster, NatsConfig};

use super::server::{Hand, Plain, client};
use super::{fields, only, topology, with_module};
use crate::administration::{Admin, StreamSettings};

/// What differed. Servers that are busy miss each other's heartbeats, and then have no room for more
/// replicas: the same may work a little later, and says so.
async fn mended(admin: &Admin<Plain>, topology: &Topology) -> Vec<Drift> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match admin.assert(topology, DriftMode::Mend).await {
            Err(error) if error.may_retry() && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            drift => return drift.unwrap(),
        }
    }
}

#[tokio::test]
async fn streams_are_kept_on_as_many_servers_as_asked_for() {
    let cluster = Cluster::of_three(NatsConfig::new()).await.unwrap();
    let [first, second, third] = cluster.members() else { panic!("three") };
    let admin_at = async |server, replicas| {
        let settings = StreamSettings { replicas, ..StreamSettings::default() };
        Admin::new(Plain::new(client(server).await), settings)
    };
    let hand = Hand(client(third).await);
    // One stream on one server, which then moves to three.
    let alone = admin_at(first, 1).await;
    let events = only(StreamName::Events);
    assert_eq!(mended(&alone, &events).await, []);
    hand.append_all("mesh.events.shop.sold", &["1", "2"]).await;

    let topology = (0..10).fold(topology(), |all, number| with_module(all, &format!("m{number}")));
    let admins = [admin_at(first, 3).await, admin_at(second, 3).await];
    let drift = mended(&admins[0], &events).await;
    assert_eq!(fields(&drift), [("EVENTS", "num_replicas", true)]);
    let [one, other] = admins.each_ref().map(|admin| mended(admin, &topology));
    assert_eq!(tokio::join!(one, other), (vec![], vec![]));
    for admin in &admins {
        assert_eq!(mended(admin, &topology).await, []);
    }
    for stream in StreamName::ALL {
        assert_eq!(hand.stream(stream.as_str()).await["config"]["num_replicas"], 3, "{stream}");
    }
    let state = admins[1].inspect(StreamName::Events).await.unwrap().unwrap();
    assert_eq!((state.messages, state.consumers), (2, 11));
}
