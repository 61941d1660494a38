//! A guard that does not come to an end, in a gateway at work.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::guard::{Mode, Now, Stage, Verdict};
use tokio::sync::Semaphore;

use super::super::*;
use super::support::*;
use super::world::*;

/// Lets `m-slow` through when it is told to, and all else at once.
#[derive(Debug)]
struct Hanging(Arc<Semaphore>);

#[async_trait]
impl AsyncGuard for Hanging {
    fn name(&self) -> &'static str {
        "hanging"
    }
    fn stage(&self) -> Stage {
        Stage::Security
    }
    async fn check(&self, arrival: &Arrival<'_>, _now: Now) -> Verdict {
        if arrival.inbound().msg_id == Some("slow") {
            self.0.acquire().await.expect("never closed").forget();
        }
        Verdict::Pass
    }
}

async fn hanging(world: &World) -> (EdgeGateway, Arc<Semaphore>) {
    let told = Arc::new(Semaphore::new(0));
    let mut config = config();
    config.rules = EdgeRules::default().waiting(Mode::Enforce, Hanging(Arc::clone(&told)));
    let gateway = world.gateway(config, options()).await;
    world.component("stock.accepts.count", "[2]").await;
    (gateway, told)
}

#[tokio::test]
async fn a_guard_that_waits_holds_up_nobody_else() {
    let world = World::new();
    let (gateway, told) = hanging(&world).await;
    let mut peer = world.peer("shop", MX).await;
    peer.send(MX, &cmd("slow")).await;
    for id in ["1", "2", "3"] {
        peer.send(MX, &cmd(id)).await;
        assert_eq!(peer.hear().await, "mxenv1 [2]");
    }
    assert_eq!(gateway.status().waiting, 1);
    told.add_permits(1);
    assert_eq!(peer.hear().await, "mxenv1 [2]");
    assert_eq!(gateway.status().waiting, 0);
}

#[tokio::test]
async fn closing_does_not_wait_for_ever_for_a_guard() {
    let world = World::new();
    let (gateway, _told) = hanging(&world).await;
    let mut peer = world.peer("shop", MX).await;
    peer.send(MX, &cmd("slow")).await;
    settle().await;
    let closing =
        tokio::spawn(async move { (gateway.close(Duration::from_secs(1)).await, gateway) });
    until(|| world.backbone.subscriptions() == 1).await;
    world.clock.advance(Duration::from_secs(1)).await;
    let (report, gateway) = closing.await.unwrap();
    assert_eq!((report.finished, report.given_up, report.abandoned), (0, 0, 1));
    assert_eq!(gateway.status().waiting, 0);
    assert!(peer.hears_nothing().await);
    assert_eq!((world.backbone.subscriptions(), world.local.subscriptions()), (1, 1));
}
