mod ask;
mod left;
mod serve;
mod trouble;

use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{Fault, MxPath};
use mesh_core::name::{InstanceName, RealmName};
use mesh_core::permissions::{Permissions, Rules};
use mesh_core::port::{Connection, Subscription};
use mesh_core::subject::{Filter, Subject};
use mesh_testkit::clock::ManualClock;
use mesh_transport_mem::{InMemoryDurableBroker, InMemoryExactBroker, InMemoryFilterBroker};

use super::{
    Call, ComponentHost, HostOptions, LocalError, LocalOptions, LocalRequestReplyClient,
    Registration,
};

/// A local bus of each kind: without wildcards and groups, and with them.
#[derive(Debug, Clone)]
enum Bus {
    Exact(InMemoryExactBroker),
    Filter(InMemoryFilterBroker),
}

impl Bus {
    /// One of each, on a clock that stands.
    fn each() -> [(Self, ManualClock); 2] {
        let clocks = [ManualClock::new(), ManualClock::new()];
        let [first, second] = clocks.clone();
        [
            (Self::Exact(InMemoryExactBroker::new(Arc::new(first))), clocks[0].clone()),
            (Self::Filter(InMemoryFilterBroker::new(Arc::new(second))), clocks[1].clone()),
        ]
    }

    fn filter() -> (Self, ManualClock) {
        let [_, filter] = Self::each();
        filter
    }

    fn connect(&self) -> Connection {
        match self {
            Self::Exact(broker) => broker.connect(gateway()),
            Self::Filter(broker) => broker.connect(gateway()),
        }
    }

    fn subscriptions(&self) -> usize {
        match self {
            Self::Exact(broker) => broker.statistics().subscriptions,
            Self::Filter(broker) => broker.statistics().subscriptions,
        }
    }

    fn host(&self) -> ComponentHost {
        ComponentHost::new(shop(), self.connect(), HostOptions::default())
    }

    async fn client(&self) -> LocalRequestReplyClient {
        LocalRequestReplyClient::new(shop(), self.connect(), LocalOptions::default()).await.unwrap()
    }
}

fn gateway() -> Principal {
    Principal::Gateway { name: InstanceName::new("g1").unwrap() }
}

fn shop() -> RealmName {
    RealmName::new("shop.example").unwrap()
}

fn path(text: &str) -> MxPath<'static> {
    text.parse().unwrap()
}

fn count() -> MxPath<'static> {
    path("stock.accepts.count")
}

fn json(text: &str) -> RawJson<'_> {
    RawJson::new(text).unwrap()
}

/// Answers with what it was given.
async fn echo(call: Call) -> Result<RawJson<'static>, Fault<'static>> {
    Ok(call.params)
}

/// A durable broker, for its permissions.
fn strict() -> (InMemoryDurableBroker, ManualClock) {
    let clock = ManualClock::new();
    (InMemoryDurableBroker::builder(Arc::new(clock.clone())).seed(7).build(), clock)
}

/// Everything but these, on each side.
fn all_but(publish: &[&str], subscribe: &[&str]) -> Permissions {
    let but = |filters: &[&str]| {
        let filters: Vec<_> = filters.iter().map(|filter| Filter::new(*filter).unwrap()).collect();
        Rules::everything().except(filters)
    };
    Permissions { publish: but(publish), subscribe: but(subscribe), responses: None }
}

/// Lets every other task run until it waits.
async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

async fn publish(connection: &Connection, subject: &str, payload: &str) {
    let message = Message::new(Subject::new(subject).unwrap(), payload.to_owned());
    connection.transport().publish(message, Default::default()).await.unwrap();
}

async fn listen(connection: &Connection, filter: &str) -> Subscription {
    let filter = Filter::new(filter).unwrap();
    connection.transport().subscribe(filter, Default::default()).await.unwrap()
}

async fn next(subscription: &mut Subscription) -> String {
    let message = subscription.next().await.unwrap().unwrap();
    String::from_utf8(message.payload().to_vec()).unwrap()
}
