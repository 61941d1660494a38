use mesh_core::permissions::{ModuleGrants, Rules};
use mesh_core::port::{ErrorKind, Position, Reason, ReceiveError, TransportError};

use super::*;

fn grants() -> ModuleGrants {
    ModuleGrants { emits: vec!["sent".parse().unwrap()], consumes: true, ..Default::default() }
}

fn scoped(bed: &Bed, name: &str) -> Connection {
    let module_name = ModuleName::new(name).unwrap();
    let permissions = Permissions::of_module(&node(), &module_name, &grants()).unwrap();
    bed.broker.connect(module(name), permissions).unwrap()
}

#[tokio::test]
async fn a_module_emits_its_own_events_only() {
    let bed = Bed::new().await;
    let mail = scoped(&bed, "mail");
    let streams = mail.streams().unwrap();
    let append = |on: &'static str| streams.append(message(on, "a"), Default::default());
    append("mesh.events.mail.sent").await.unwrap();
    for foreign in [
        "mesh.events.mail.other",
        "mesh.events.vault.sent",
        "mesh.events.dead",
        "mesh.replay.n1_audit.mail.sent",
        "mesh.node.n1.declare",
        "$JS.API.STREAM.DELETE.EVENTS",
        "mesh.deliver.EVENTS.n1_mail",
    ] {
        assert_eq!(append(foreign).await.unwrap_err().kind(), ErrorKind::Denied);
        let published = mail.transport().publish(message(foreign, "a"), Default::default());
        assert_eq!(published.await.unwrap_err().kind(), ErrorKind::Denied);
    }
    let admin = bed.control.administration().unwrap();
    let state = admin.inspect(StreamName::Events).await.unwrap().unwrap();
    assert_eq!(state.messages, 1);
    assert!(mail.administration().is_err());
}

#[tokio::test]
async fn a_reply_address_of_the_broker_is_refused() {
    let bed = Bed::new().await;
    let mail = scoped(&bed, "mail");
    for reply in ["$JS.ACK.EVENTS.n1_audit.1.1.1.1.0", "_R_.abc", "$GR.abc", "_GR_.abc"] {
        let aimed = message("mesh.events.mail.sent", "a").with_reply(subject(reply));
        let refused = mail.transport().publish(aimed, Default::default()).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Denied);
    }
}

#[tokio::test]
async fn anothers_consumer_and_inbox_are_out_of_reach() {
    let bed = Bed::new().await;
    let (mail, audit) = (scoped(&bed, "mail"), scoped(&bed, "audit"));
    let consume = |connection: &Connection| {
        let streams = Arc::clone(connection.streams().unwrap());
        async move { streams.consume(events("n1_audit"), Default::default()).await }
    };
    let refused = consume(&mail).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Denied);
    consume(&audit).await.unwrap();
    for foreign in ["_INBOX.>", "_INBOX.audit.n1.>", ">", "mesh.events.>", "*.events.mail.sent"] {
        let transport = mail.transport();
        let refused = transport.subscribe(filter(foreign), Default::default()).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Denied, "{foreign}");
    }
}

#[tokio::test]
async fn permissions_that_are_taken_away_end_what_they_allowed() {
    let bed = Bed::new().await;
    let audit = scoped(&bed, "audit");
    let mut deliveries = bed.read(&audit, "n1_audit").await;
    let inbox = filter("_INBOX.audit.n1.>");
    let transport = audit.transport();
    let mut inbox = transport.subscribe(inbox, Default::default()).await.unwrap();
    bed.emit("a").await;
    let held = next(&mut deliveries).await;

    let none = Permissions::default();
    assert_eq!(bed.broker.set_permissions(&module("audit"), &none), 1);
    let denied = |error: &ReceiveError| matches!(error, ReceiveError::Ended(error) if error.kind() == ErrorKind::Denied);
    assert!(denied(&deliveries.next().await.unwrap().unwrap_err()));
    assert!(denied(&inbox.next().await.unwrap().unwrap_err()));
    assert!(inbox.next().await.is_none());
    drop(held);
    // The connection itself lives on, and may be allowed things again.
    bed.broker.set_permissions(&module("audit"), &Permissions::everything());
    let mut deliveries = bed.read(&audit, "n1_audit").await;
    assert_eq!(next(&mut deliveries).await.info().attempt, 2);
}

#[tokio::test]
async fn what_is_denied_within_a_filter_is_not_heard() {
    let bed = Bed::new().await;
    let permissions = |denied: &[&str]| Permissions {
        publish: Rules::nothing(),
        subscribe: Rules::everything().except(denied.iter().map(|text| filter(text))),
        responses: None,
    };
    let watcher = bed.broker.connect(module("watch"), permissions(&["a.secret"])).unwrap();
    let transport = watcher.transport();
    let mut heard = transport.subscribe(filter("a.*"), Default::default()).await.unwrap();
    let publish = async |on: &str| {
        let transport = bed.control.transport();
        transport.publish(message(on, "x"), Default::default()).await.unwrap();
    };
    publish("a.secret").await;
    publish("a.plain").await;
    assert_eq!(heard.next().await.unwrap().unwrap().subject().as_str(), "a.plain");
    bed.broker.set_permissions(&module("watch"), &permissions(&["a.plain"]));
    publish("a.plain").await;
    publish("a.secret").await;
    assert_eq!(heard.next().await.unwrap().unwrap().subject().as_str(), "a.secret");
}

#[tokio::test]
async fn what_was_held_is_not_settled_once_the_right_is_gone() {
    for leaves_before in [false, true] {
        let bed = Bed::new().await;
        let audit = scoped(&bed, "audit");
        let mut reading = Some(bed.read(&audit, "n1_audit").await);
        let mut held = Vec::new();
        for body in ["a", "b", "c"] {
            bed.emit(body).await;
            held.push(next(reading.as_mut().unwrap()).await);
        }
        if leaves_before {
            reading = None;
        }
        bed.broker.set_permissions(&module("audit"), &Permissions::default());
        let denied = |result: Result<(), TransportError>| {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Denied);
        };
        denied(held[0].progress().await);
        denied(held.remove(0).ack().await);
        denied(held.remove(0).terminate(Reason::new("no use")).await);
        denied(held.remove(0).nak(None).await);
        assert_eq!((bed.owed("n1_audit").await, bed.dead().await), (3, 0));
        drop(reading);
    }
}

#[tokio::test]
async fn administration_goes_by_the_rights_of_now() {
    let bed = Bed::new().await;
    bed.emit("a").await;
    let less =
        Permissions { publish: Rules::allow([filter("mesh.>")]), ..Permissions::everything() };
    bed.broker.set_permissions(&controller(), &less);
    let admin = bed.control.administration().unwrap();
    let audit = events("n1_audit");
    let denied = |kind: Option<ErrorKind>| assert_eq!(kind, Some(ErrorKind::Denied));
    let kind = |error: TransportError| error.kind();
    denied(admin.assert(&Topology::new(), DriftMode::Mend).await.err().map(kind));
    let first = Position::Sequence(1);
    denied(admin.read(StreamName::Events, first.clone()).await.err().map(kind));
    denied(admin.inspect(StreamName::Events).await.err().map(kind));
    denied(admin.inspect_consumer(&audit).await.err().map(kind));
    denied(admin.retire(&audit).await.err().map(kind));

    bed.broker.set_permissions(&controller(), &Permissions::of_controller());
    assert!(admin.read(StreamName::Events, first).await.unwrap().is_some());
    assert!(admin.retire(&audit).await.unwrap(), "nothing was retired meanwhile");
}
