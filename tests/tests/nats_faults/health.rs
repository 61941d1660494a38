//! What the SDK's health says of a connection that goes and comes back.

use std::time::Duration;

use mesh_testkit::fixtures::module;
use mesh_testkit::servers::Proxy;
use mesh_transport_nats::connect;

use crate::bed;

#[path = "../support/health.rs"]
mod told;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_says_how_it_stands() {
    let server = bed::server_with_mail(bed::rules(Duration::from_secs(30))).await;
    let proxy = Proxy::before(server.address()).await.unwrap();
    let target = bed::target(proxy.address(), module("n1", "mail"), bed::USER);
    let connection = connect(target, bed::quick()).await.unwrap();
    told::tells_the_truth(connection, &proxy).await;
}
