mod bounds;
mod close;
mod deadlines;
mod events;
mod fake;
mod health;
mod interrupted;
mod log;
mod observed;
mod once;
mod order;
mod order_at_random;
mod rejections;
mod retries;
mod scopes;
mod time_left;
mod tools;
mod traces;
mod unhandled;
mod verify;
mod waits;

use std::sync::Arc;
use std::time::Duration;

use mesh_core::dead_letter::DeadLetter;
use mesh_core::event::{Event, EventId};
use mesh_core::identity::Principal;
use mesh_core::json::JsonText;
use mesh_core::message::Message;
use mesh_core::permissions::{ModuleGrants, Permissions};
use mesh_core::port::{AppendOptions, Clock, Connection, DriftMode, Position};
use mesh_core::subject::Filter;
use mesh_core::topology::{StreamName, Topology};
use mesh_testkit::clock::ManualClock;
use mesh_testkit::fixtures::{
    controller, event, event_name, filter, module, module_name, node, subject, tool_name,
};
use mesh_transport_mem::InMemoryDurableBroker;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{Broker, BrokerBuilder};

/// A broker whose time is moved by hand; `mail` emits `sent`, serves `send` and consumes nothing;
/// `audit` consumes everything of `mail`, and may call `mail.send` and `vault.open`.
struct Bed {
    clock: ManualClock,
    broker: InMemoryDurableBroker,
    controller: Connection,
}

impl Bed {
    async fn new() -> Self {
        let clock = ManualClock::new();
        let broker = InMemoryDurableBroker::builder(Arc::new(clock.clone())).seed(1).build();
        let controller = broker.connect(controller(), Permissions::everything()).unwrap();
        let topology = Topology::new()
            .with_module(&node("n1"), &module_name("audit"), &[filter("mail.>")])
            .unwrap();
        controller.administration().unwrap().assert(&topology, DriftMode::Report).await.unwrap();
        Self { clock, broker, controller }
    }

    fn connect(&self, principal: Principal, permissions: Permissions) -> BrokerBuilder {
        Broker::builder(self.broker.connect(principal, permissions).unwrap()).seed(2)
    }

    fn mail(&self) -> Broker {
        let grants = ModuleGrants {
            emits: vec![event_name("sent"), event_name("lost")],
            tools: vec![tool_name("send")],
            ..ModuleGrants::default()
        };
        self.module("mail", &grants).build().unwrap()
    }

    fn audit(&self) -> BrokerBuilder {
        let grants = ModuleGrants {
            consumes: true,
            calls: vec![
                (module_name("mail"), tool_name("send")),
                (module_name("vault"), tool_name("open")),
            ],
            ..ModuleGrants::default()
        };
        self.module("audit", &grants).consumes([filter("mail.>")])
    }

    /// A connection of a module that may do everything, to be made worse.
    fn fake(&self, name: &str) -> fake::Fake {
        let everything = Permissions::everything();
        fake::Fake::over(self.broker.connect(module("n1", name), everything).unwrap())
    }

    fn module(&self, name: &str, grants: &ModuleGrants) -> BrokerBuilder {
        let permissions = Permissions::of_module(&node("n1"), &module_name(name), grants).unwrap();
        self.connect(module("n1", name), permissions)
    }

    /// Appends a message as no SDK would write it.
    async fn append(&self, message: Message) {
        let streams = self.controller.streams().unwrap();
        streams.append(message, AppendOptions::default()).await.unwrap();
    }

    /// An event as `source` writes it, on `mail`'s subject.
    fn written_by(&self, source: &str, id: &str) -> Message {
        let data = JsonText::new("{}").unwrap();
        let id = EventId::new(id).unwrap();
        let event_ = Event::new(id, module_name(source), node("n1"), self.clock.now(), data);
        Message::new(event("mail", "sent"), "{}")
            .with_headers(crate::publish::headers(&event_).unwrap())
    }

    /// The last dead letter, once there is one.
    async fn dead_letter(&self) -> DeadLetter {
        let administration = self.controller.administration().unwrap();
        loop {
            let position = Position::LastOf(subject("mesh.events.dead"));
            match administration.read(StreamName::EventsDead, position).await.unwrap() {
                Some(stored) => return DeadLetter::parse(&stored.message).unwrap(),
                None => tokio::task::yield_now().await,
            }
        }
    }
}

/// What handlers did, to be waited for.
#[derive(Debug, Clone, Default)]
struct Notes(Arc<(Mutex<Vec<String>>, Notify)>);

impl Notes {
    fn write(&self, note: impl Into<String>) {
        self.0.0.lock().push(note.into());
        self.0.1.notify_waiters();
    }

    fn read(&self) -> Vec<String> {
        self.0.0.lock().clone()
    }

    /// Returns when there are at least `count`; fails where they don't come.
    async fn wait(&self, count: usize) -> Vec<String> {
        let written = async {
            loop {
                let written = self.0.1.notified();
                tokio::pin!(written);
                written.as_mut().enable();
                if self.read().len() >= count {
                    return self.read();
                }
                written.await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(30), written).await {
            Ok(notes) => notes,
            Err(_) => panic!("{count} were to come, and these are there: {:?}", self.read()),
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn no_filters() -> [Filter; 0] {
    []
}
