//! On three servers, where everything takes a vote.

use mesh_core::port::{Administration as _, DriftMode};
use mesh_core::topology::StreamName;
use mesh_testkit::servers::nats::{Cluster, NatsConfig};

use super::server::{Hand, Plain, client};
use super::{fields, only, topology, with_module};
use crate::administration::{Admin, StreamSettings};

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
    assert_eq!(alone.assert(&events, DriftMode::Mend).await.unwrap(), []);
    hand.append_all("mesh.events.shop.sold", &["1", "2"]).await;

    let topology = (0..10).fold(topology(), |all, number| with_module(all, &format!("m{number}")));
    let admins = [admin_at(first, 3).await, admin_at(second, 3).await];
    let drift = admins[0].assert(&events, DriftMode::Mend).await.unwrap();
    assert_eq!(fields(&drift), [("EVENTS", "num_replicas", true)]);
    let [one, other] = admins.each_ref().map(|admin| admin.assert(&topology, DriftMode::Mend));
    let (one, other) = tokio::join!(one, other);
    assert_eq!((one.unwrap(), other.unwrap()), (vec![], vec![]));
    for admin in &admins {
        assert_eq!(admin.assert(&topology, DriftMode::Mend).await.unwrap(), []);
    }
    for stream in StreamName::ALL {
        assert_eq!(hand.stream(stream.as_str()).await["config"]["num_replicas"], 3, "{stream}");
    }
    let state = admins[1].inspect(StreamName::Events).await.unwrap().unwrap();
    assert_eq!((state.messages, state.consumers), (2, 11));
}
