use std::time::Duration;

use mesh_core::port::{Administration as _, DriftMode};
use mesh_core::topology::StreamName;

use super::look::small_events;
use super::server::Server;
use super::{fields, only, topology, with_module};

#[tokio::test]
async fn controllers_that_start_at_once_agree() {
    let server = Server::start().await;
    let admins = [server.admin().await, server.admin().await, server.admin().await];
    let topology = (0..20).fold(topology(), |all, number| with_module(all, &format!("m{number}")));
    let [a, b, c] = admins.each_ref().map(|admin| admin.assert(&topology, DriftMode::Mend));
    let (a, b, c) = tokio::join!(a, b, c);
    assert_eq!([a.unwrap(), b.unwrap(), c.unwrap()], [vec![], vec![], vec![]]);
    for admin in &admins {
        assert_eq!(admin.assert(&topology, DriftMode::Report).await.unwrap(), []);
    }
}

#[tokio::test]
async fn controllers_that_disagree_name_the_difference_and_none_fails() {
    let server = Server::start().await;
    let (one, other) = (server.admin().await, server.admin().await);
    let small = small_events(|events| events.max_bytes = 1_000_000);
    for mode in [DriftMode::Report, DriftMode::Mend] {
        let large = only(StreamName::Events);
        let asserted = tokio::join!(one.assert(&small, mode), other.assert(&large, mode));
        for drift in [asserted.0.unwrap(), asserted.1.unwrap()] {
            assert!(drift.iter().all(|drift| drift.field == "max_bytes"), "{drift:?}");
        }
    }
    let drift = one.assert(&small, DriftMode::Mend).await.unwrap();
    let left = one.assert(&small, DriftMode::Report).await.unwrap();
    assert!(left.is_empty() && drift.len() <= 1, "{:?} {left:?}", fields(&drift));
}

#[tokio::test]
async fn five_hundred_consumers_are_asserted_in_acceptable_time() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let topology = (0..500)
        .fold(only(StreamName::Events), |all, number| with_module(all, &format!("m{number}")));
    // One after the other over a slow line, with 50 ms for each, it would take 25 s.
    for _twice in 0..2 {
        let asserting = admin.assert(&topology, DriftMode::Mend);
        let drift = tokio::time::timeout(Duration::from_secs(60), asserting).await;
        assert_eq!(drift.expect("it takes too long").unwrap(), []);
    }
    let events = admin.inspect(StreamName::Events).await.unwrap().unwrap();
    assert_eq!(events.consumers, 501);
}
