//! What the SDK's health says of a connection that goes and comes back.

use mesh_testkit::servers::Proxy;
use mesh_transport_amqp::connect;

use crate::bed;

#[path = "../support/health.rs"]
mod told;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_says_how_it_stands() {
    let server = bed::broker(&["mail"]).await;
    let proxy = Proxy::before(server.address()).await.unwrap();
    let target = bed::target_at(&server, proxy.address(), "mail", bed::PASSWORD);
    let connection = connect(target, bed::quick()).await.unwrap();
    told::tells_the_truth(connection, &proxy).await;
}
