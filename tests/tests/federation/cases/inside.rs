//! Requests and answers inside one realm, on its own bus.

use std::sync::Arc;

use mesh_core::json::RawJson;
use mesh_core::mx::{Fault, MxPath};
use mesh_federation::{
    Call, ComponentHost, HostOptions, LocalError, LocalOptions, LocalRequestReplyClient,
};
use mesh_testkit::clock::ManualClock;

use crate::ground::{Ground, RealmPlan};

fn path(text: &str) -> MxPath<'static> {
    text.parse().unwrap()
}

/// Local to local: an answer with the body as it was, a failure with its own code, and nobody there told apart
/// from both; nothing is left behind.
pub(super) async fn a_component_answers_within_its_realm(ground: Ground) {
    let plan = RealmPlan::new("acme.com")
        .accepts("desk.accepts.echo")
        .accepts("desk.accepts.fail")
        .accepts("desk.accepts.nobody");
    let field = ground.raise(vec![plan], Arc::new(ManualClock::new())).await;
    let realm = field.realm(0);
    let host = ComponentHost::new(realm.name.clone(), realm.app.clone(), HostOptions::default());
    let echo = |call: Call| async move {
        assert!(call.is_local());
        Ok(call.params)
    };
    let fail = |_: Call| async { Err(Fault::new("desk.CLOSED", "come back tomorrow")) };
    let _echo = host.accept(path("desk.accepts.echo"), echo).await.unwrap();
    let _fail = host.accept(path("desk.accepts.fail"), fail).await.unwrap();

    let options = LocalOptions::default();
    let (name, bus) = (realm.name.clone(), realm.gateway.clone());
    let client = LocalRequestReplyClient::new(name, bus, options).await.unwrap();
    let body = RawJson::new(r#"{"n": 12.50, "big": 12345678901234567890}"#).unwrap();
    assert_eq!(client.request(&path("desk.accepts.echo"), &body).await.unwrap(), body);
    let failed = client.request(&path("desk.accepts.fail"), &body).await.unwrap_err();
    let LocalError::Failed(fault) = failed else { panic!("{failed}") };
    assert_eq!(fault.code, "desk.CLOSED");
    let nobody = client.request(&path("desk.accepts.nobody"), &body).await.unwrap_err();
    assert!(matches!(nobody, LocalError::NoResponders { .. }), "{nobody}");
    assert_eq!(client.counts().pending, 0);
}

/// What is not in a component's grants is closed to it.
pub(super) async fn a_component_has_its_own_paths_alone(ground: Ground) {
    let plan = RealmPlan::new("acme.com").accepts("desk.accepts.echo").emits("desk.emits.said");
    let field = ground.raise(vec![plan], Arc::new(ManualClock::new())).await;
    let realm = field.realm(0);
    let host = ComponentHost::new(realm.name.clone(), realm.app.clone(), HostOptions::default());
    host.emit(&path("desk.emits.said"), &RawJson::NULL).await.unwrap();
    let echo = |call: Call| async move { Ok(call.params) };
    let denied = host.accept(path("shop.accepts.buy"), echo).await.unwrap_err();
    assert!(denied.to_string().contains("denied"), "{denied}");
    let denied = host.emit(&path("shop.emits.sold"), &RawJson::NULL).await.unwrap_err();
    assert!(denied.to_string().contains("denied"), "{denied}");
}
