//! A broker's health on a real broker: what it says while all is well, while the connection is away, and
//! while it leaves.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{Connection, ConnectionState};
use mesh_core::tool::ToolFailure;
use mesh_sdk::{Broker, Health};
use mesh_testkit::fixtures::filter;
use mesh_testkit::servers::Proxy;
use tokio::sync::Notify;

const PATIENCE: Duration = Duration::from_secs(60);

async fn until(broker: &Broker, what: &str, is: impl Fn(&Health) -> bool) -> Health {
    let look = async {
        loop {
            let health = broker.health();
            if is(&health) {
                return health;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let looked = tokio::time::timeout(PATIENCE, look).await;
    looked.unwrap_or_else(|_| panic!("never {what}: {:?}", broker.health()))
}

/// `connection` is that of a module that consumes everything, through `proxy`.
pub(crate) async fn tells_the_truth(connection: Connection, proxy: &Proxy) {
    let broker = Broker::builder(connection).consumes([filter("*.>")]).build().unwrap();
    let health = broker.health();
    assert!(health.is_well() && health.subscriptions.is_empty() && health.tools.is_empty());

    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, wait) = (Arc::clone(&begun), Arc::clone(&go));
    let handler = move |_| {
        let (begins, wait) = (Arc::clone(&begins), Arc::clone(&wait));
        async move {
            begins.notify_one();
            wait.notified().await;
            Ok(())
        }
    };
    broker.subscribe("mail.*", handler).await.unwrap();
    broker.handle("send", |_| async { Ok::<_, ToolFailure>(1) }).await.unwrap();
    let health = broker.health();
    assert!(health.is_well(), "{health:?}");
    assert_eq!((health.subscriptions.len(), health.tools.len()), (1, 1));

    proxy.refuse(true).await.unwrap();
    proxy.cut().await;
    let health = until(&broker, "told that it is away", |health| !health.is_connected()).await;
    assert!(!health.is_well() && !health.draining, "{health:?}");
    proxy.refuse(false).await.unwrap();
    until(&broker, "well again", Health::is_well).await;

    // What it says then is so.
    broker.publish("sent", &()).await.unwrap();
    tokio::time::timeout(PATIENCE, begun.notified()).await.unwrap();
    let answer: u32 = broker.request(("mail", "send"), &()).await.unwrap();
    assert_eq!(answer, 1);

    let leaving = broker.clone();
    let closing = tokio::spawn(async move { leaving.close(PATIENCE).await });
    let health = until(&broker, "told that it drains", |health| health.draining).await;
    assert!(health.is_connected() && !health.is_well(), "{health:?}");
    go.notify_one();
    let closed = closing.await.unwrap();
    assert_eq!((closed.lost, closed.overdue), (0, false));
    let health = broker.health();
    assert!(matches!(health.connection, None | Some(ConnectionState::Closed)), "{health:?}");
    assert!(!health.draining && !health.is_well(), "{health:?}");
    assert!(health.subscriptions.is_empty() && health.tools.is_empty(), "{health:?}");
}
