//! Every address that a program listens at or lets be answered to is in its own inbox or granted to it by
//! name.

use mesh_core::topology::Inbox;
use mesh_sdk::ToolCall;
use mesh_testkit::fixtures::filter;
use serde_json::Value;

use crate::split::{Bed, Isolation, Setup, TAP, layout};
use crate::{module, soon};

#[test]
fn nobody_is_granted_all_inboxes_or_everything() {
    for isolation in [Isolation::Split, Isolation::OneAccount] {
        let layout = layout(&Setup::scoped(isolation)).unwrap();
        assert!(layout.users().len() > 12);
        for user in layout.users().iter().filter(|user| user.name() != TAP) {
            for text in
                [">", "*", "_INBOX.>", "_INBOX.*", "_INBOX.*.>", "_R_.>", "$JS.>", "$JS.ACK.>"]
            {
                for rules in [&user.permissions.publish, &user.permissions.subscribe] {
                    assert!(!rules.permits_filter(&filter(text), None), "{} {text}", user.name());
                }
            }
        }
    }
}

#[tokio::test]
async fn modules_listen_only_where_they_may_and_are_answered_only_in_their_inboxes() {
    // In one account, so that one listener hears everything that anybody publishes.
    let bed = Bed::start(Setup::scoped(Isolation::OneAccount)).await.unwrap();
    let mut tap = bed.raw(TAP).await.unwrap();
    tap.subscribe("mesh.>", None).await.unwrap();
    tap.subscribe("$JS.ACK.>", None).await.unwrap();
    tap.settle().await.unwrap();

    let db = module(&bed, "db.n1", &[]).await;
    soon(db.handle("drop", |call: ToolCall| async move { call.decode::<Value>() })).await.unwrap();
    let evil = module(&bed, "evil.n1", &["svc.made"]).await;
    let (sender, mut handled) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |_| {
        sender.send(()).unwrap();
        async { Ok(()) }
    };
    soon(evil.subscribe("svc.made", handler)).await.unwrap();
    let svc = module(&bed, "svc.n1", &[]).await;
    soon(svc.publish("made", &1)).await.unwrap();
    soon(handled.recv()).await.unwrap();
    let _: Value = soon(svc.request(("db", "drop"), &1)).await.unwrap();

    // What each listens at, as the server knows it.
    let connections = bed.server.connz().await.unwrap();
    let mut seen = 0;
    for name in ["svc.n1", "db.n1", "evil.n1"] {
        let user = bed.user(name);
        let own = connections["connections"].as_array().unwrap().iter();
        for connection in own.filter(|connection| connection["authorized_user"] == name) {
            let listed = connection["subscriptions_list_detail"].as_array();
            for subscription in listed.into_iter().flatten() {
                let subject = filter(subscription["subject"].as_str().unwrap());
                let group = subscription["qgroup"].as_str();
                let group = group.map(mesh_testkit::fixtures::group);
                let may = user.permissions.subscribe.permits_filter(&subject, group.as_ref());
                assert!(may, "{name} listens at {subject}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 5, "three inboxes, a tool and a consumer: {connections}");

    // Where they let be answered.
    let inboxes = ["svc.n1", "db.n1", "evil.n1"]
        .map(|name| format!("{}.", Inbox::of(&bed.user(name).principal)));
    let mut answered = 0;
    for message in tap.settle().await.unwrap().messages {
        let Some(reply) = message.reply.filter(|reply| !reply.starts_with("$JS.ACK.")) else {
            continue;
        };
        assert!(inboxes.iter().any(|inbox| reply.starts_with(inbox)), "{reply}");
        answered += 1;
    }
    assert!(answered >= 3, "an append, a call and a question to the consumer");
}
