//! A broker is built for what its connection has, and says what is missing.

use mesh_core::tool::ToolFailure;
use mesh_testkit::fixtures::{host, person};
use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};

use super::*;
use crate::{Asking, Events, Scope, Tools, Whole};

fn exact(principal: Principal) -> Connection {
    InMemoryExactBroker::new(Arc::new(ManualClock::new())).connect(principal)
}

fn filtering(principal: Principal) -> Connection {
    InMemoryFilterBroker::new(Arc::new(ManualClock::new())).connect(principal)
}

/// What is said to who builds that; nothing where it is built.
fn refusal<S: Scope>(connection: &Connection) -> String {
    match Broker::builder(connection.clone()).build_only::<S>() {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn only_a_module_has_events_and_tools_and_who_may_ask_is_told_of_it() {
    let bed = Bed::new().await;
    let connect = |who| bed.broker.connect(who, Permissions::everything()).unwrap();
    let ann = connect(person("ann"));
    for refused in [refusal::<Whole>(&ann), refusal::<Events>(&ann), refusal::<Tools>(&ann)] {
        assert_eq!(
            refused,
            "person ann is not a module, and only a module has events and tools; \
             build_only::<Asking>() builds a broker that asks"
        );
    }
    assert_eq!(refusal::<Asking>(&ann), "");
    assert_eq!(refusal::<Asking>(&bed.controller), "");
    let host = connect(host("n1"));
    assert_eq!(
        refusal::<Whole>(&host),
        "host n1 is not a module, and only a module has events and tools"
    );
    assert_eq!(
        refusal::<Asking>(&host),
        "host n1 may call no tools: modules, people and the controller do"
    );
    let mail = connect(module("n1", "mail"));
    let built = [refusal::<Whole>(&mail), refusal::<Events>(&mail), refusal::<Tools>(&mail)];
    assert_eq!((built.join(""), refusal::<Asking>(&mail)), (String::new(), String::new()));
}

#[tokio::test]
async fn what_a_transport_lacks_is_named_when_a_broker_is_built() {
    let lacking = |what: &str| {
        format!("the connection lacks {what}: build_only leaves out the verbs that need it")
    };
    let (streams, requests) = (lacking("DurableConsumers"), lacking("Requests"));
    let least = exact(module("n1", "mail"));
    assert_eq!(refusal::<Whole>(&least), streams);
    assert_eq!(refusal::<Events>(&least), streams);
    assert_eq!(refusal::<Tools>(&least), requests);
    assert_eq!(refusal::<Asking>(&exact(person("ann"))), requests);
    let live = filtering(module("n1", "mail"));
    assert_eq!(refusal::<Whole>(&live), streams);
    assert_eq!((refusal::<Tools>(&live), refusal::<Asking>(&live)), <_>::default());
}

#[tokio::test]
async fn a_port_that_its_transport_does_not_vouch_for_does_not_count() {
    let bed = Bed::new().await;
    let mail = bed.fake("mail").connection();
    let (streams, requests) = (mail.streams().unwrap(), mail.requests().unwrap());
    let least = exact(module("n1", "mail"))
        .with_streams(Arc::clone(streams))
        .with_requests(Arc::clone(requests));
    assert!(refusal::<Events>(&least).contains("DurableConsumers"));
    assert!(refusal::<Tools>(&least).contains("Requests"));
    // Vouched for, and not there.
    let alone = Connection::new(
        mail.principal().clone(),
        Arc::clone(mail.clock()),
        Arc::clone(mail.transport()),
    );
    assert!(refusal::<Events>(&alone).contains("DurableConsumers"));
    assert_eq!(refusal::<Events>(&alone.with_streams(Arc::clone(streams))), "");
}

#[tokio::test]
async fn tools_are_served_and_asked_on_a_transport_without_streams() {
    let broker = InMemoryFilterBroker::new(Arc::new(ManualClock::new()));
    let connect = |who| Broker::builder(broker.connect(who));
    let audit = connect(module("n1", "audit")).build_only::<Tools>().unwrap();
    audit.handle("count", |_| async { Ok::<_, ToolFailure>(7) }).await.unwrap();
    let ann = connect(person("ann")).build_only::<Asking>().unwrap();
    for asking in [ann, audit.only()] {
        assert_eq!(asking.request::<_, _, u32>(("audit", "count"), &()).await.unwrap(), 7);
    }
    assert!(audit.health().is_well());
}

#[tokio::test]
async fn a_narrower_broker_is_the_same_place() {
    let bed = Bed::new().await;
    let (mail, audit, notes) = (bed.mail(), bed.audit().build().unwrap(), Notes::default());
    let (events, seen): (Broker<Events>, _) = (audit.only(), notes.clone());
    let handler = move |_| {
        seen.write("handled");
        async { Ok(()) }
    };
    events.subscribe("mail.sent", handler).await.unwrap();
    drop(audit);
    mail.only::<Events>().publish("sent", &()).await.unwrap();
    assert_eq!(notes.wait(1).await, ["handled"]);
    assert_eq!(events.principal(), &module("n1", "audit"));
    mail.only::<Asking>().close(SECOND).await;
    assert!(!mail.health().is_connected());
}
