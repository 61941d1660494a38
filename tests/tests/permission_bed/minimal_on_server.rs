//! The same on a real nats-server, through the adapter, for a sample of the example mesh's grants.

use async_trait::async_trait;
use mesh_control::compose;
use mesh_core::credential::{Login, Secret};
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Connection, DriftMode, TransportError};
use mesh_core::topology::{Account, ConsumerRef, Topology};
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_transport_nats::{NatsOptions, Target, connect};

use super::doing::Stage;
use super::flows::{self, controller};
use super::ground::{PASSWORD, accounts};
use super::minimal::{Taken, broken, grants, has_part, renew, without};
use super::world::{SPLIT_SCOPED, example};

/// Every how manieth grant is taken.
const EVERY: usize = 3;

struct OnServer {
    server: NatsServer,
    controller: Connection,
    topology: Topology,
}

impl OnServer {
    async fn log_in(&self, user: &str, as_whom: Principal) -> Result<Connection, TransportError> {
        log_in(&self.server, user, as_whom).await
    }
}

async fn log_in(
    server: &NatsServer,
    user: &str,
    as_whom: Principal,
) -> Result<Connection, TransportError> {
    let login = Login::new(user, Secret::new(PASSWORD.to_owned())).unwrap();
    let target = Target::insecure_loopback(server.address(), login, as_whom)?;
    connect(target, NatsOptions::default()).await
}

#[async_trait]
impl Stage for OnServer {
    async fn stand_in(&self, account: Account, principal: Principal) -> Connection {
        let user = if account == Account::Bus { "stand-in-bus" } else { "stand-in-edge" };
        self.log_in(user, principal).await.unwrap()
    }

    async fn renew(&self, consumer: &ConsumerRef) {
        renew(&self.controller, &self.topology, consumer).await;
    }
}

/// To a server that takes acknowledgements in the first form alone the second is of no use.
fn counts(taken: &Taken<'_>) -> bool {
    !taken.rule.filter.as_str().starts_with("$JS.ACK.*.")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sample_of_the_example_meshs_grants_is_needed_on_a_server() {
    let world = example(SPLIT_SCOPED);
    let users = || world.composition.users().iter().filter(|user| has_part(user));
    let everything = Permissions::everything();
    let mut all: Vec<(String, compose::Account, Permissions)> = Vec::new();
    all.extend(users().map(|user| (user.name().to_owned(), user.account(), user.permissions())));
    let taken = users().flat_map(|user| grants(user).map(move |taken| (user, taken)));
    let sample: Vec<_> = taken.filter(|(_, taken)| counts(taken)).step_by(EVERY).collect();
    // Each has a user of its own, so that nothing has to be reloaded between them.
    for (index, (user, taken)) in sample.iter().enumerate() {
        all.push((format!("less-{index}"), user.account(), without(user, *taken)));
    }
    all.push(("stand-in-bus".to_owned(), compose::Account::Bus, everything.clone()));
    all.push(("stand-in-edge".to_owned(), compose::Account::Edge, everything));
    let named = all.iter().map(|(name, account, may)| (name.as_str(), *account, may));
    let text = accounts(&world.composition, named).text().unwrap();
    let server = NatsServer::launch(NatsConfig::new().jetstream().with(text)).await.unwrap();
    let bus = log_in(&server, "controller", controller()).await.unwrap();
    let topology = world.composition.topology().clone();
    bus.administration().unwrap().assert(&topology, DriftMode::Mend).await.unwrap();
    let stage = OnServer { server, controller: bus, topology };

    for user in users() {
        let me = stage.log_in(user.name(), user.principal().clone()).await.unwrap();
        let failed = broken(&flows::of(&world.composition, user), &me, &stage).await;
        assert_eq!(failed, None, "{} does what is declared", user.name());
    }
    for (index, (user, taken)) in sample.iter().enumerate() {
        let me = stage.log_in(&format!("less-{index}"), user.principal().clone()).await;
        // Who may not even hear its own inbox is not let in by its own adapter.
        let Ok(me) = me else { continue };
        let failed = broken(&flows::of(&world.composition, user), &me, &stage).await;
        assert!(failed.is_some(), "{} does all without {taken:?}", user.name());
    }
    println!("{} grants of the example mesh, each needed on a server", sample.len());
    assert!(sample.len() > 20, "{}", sample.len());
}
