//! The two accounts of a split mesh: what passes between them, and what does not.

use mesh_core::port::{Incoming, Subscription};
use mesh_core::topology::Account;

use super::*;

/// Somebody in this account who may do anything there.
fn anybody(bed: &Bed, account: Account, name: &str) -> Connection {
    bed.broker.connect_in(account, module(name), Permissions::everything()).unwrap()
}

async fn tap(connection: &Connection, what: &str) -> Subscription {
    connection.transport().subscribe(filter(what), Default::default()).await.unwrap()
}

async fn heard(tap: &mut Incoming<Message>) -> Vec<String> {
    let mut heard = Vec::new();
    while let Some(message) = arrived(tap).await {
        heard.push(message.unwrap().subject().to_string());
    }
    heard
}

async fn publish(connection: &Connection, on: &str, reply: Option<&str>) {
    let message = message(on, "x");
    let message = match reply {
        Some(reply) => message.with_reply(subject(reply)),
        None => message,
    };
    _ = connection.transport().publish(message, Default::default()).await;
}

#[tokio::test]
async fn what_is_exported_reaches_the_other_account_and_nothing_else_does() {
    let bed = Bed::new().await;
    let (bus, edge) = (anybody(&bed, Account::Bus, "b"), anybody(&bed, Account::Edge, "e"));
    let (mut on_bus, mut on_edge) = (tap(&bus, ">").await, tap(&edge, ">").await);
    let both = ["mesh.control.n1.alive", "mesh.events.mail.sent"];
    let edge_alone =
        ["mesh.tools.mail.send", "mesh.ask.n1.x", "mesh.build.request", "_INBOX.a.b.c.d"];
    for on in both.into_iter().chain(edge_alone) {
        publish(&edge, on, None).await;
    }
    assert_eq!(heard(&mut on_bus).await, both);
    assert_eq!(heard(&mut on_edge).await.len(), both.len() + edge_alone.len());
    for on in ["mesh.control.n1.alive", "mesh.tools.mail.send", "mesh.deliver.NODES.n1"] {
        publish(&bus, on, None).await;
    }
    assert_eq!(heard(&mut on_bus).await.len(), 3);
    assert_eq!(heard(&mut on_edge).await, ["mesh.deliver.NODES.n1"]);
}

#[tokio::test]
async fn the_streams_keep_what_passes_and_nothing_else() {
    let bed = Bed::new().await;
    let edge = anybody(&bed, Account::Edge, "e");
    let append = async |on: &str| {
        edge.streams().unwrap().append(message(on, "x"), Default::default()).await.map(drop)
    };
    append("mesh.events.mail.sent").await.unwrap();
    append("mesh.control.built").await.unwrap();
    for on in ["mesh.node.n1.declare", "mesh.build.request", "mesh.replay.n1_audit.mail.sent"] {
        let refused = append(on).await.unwrap_err();
        assert_eq!(refused.kind(), mesh_core::port::ErrorKind::NotFound, "{on}");
    }
    let consume = async |consumer: ConsumerRef| {
        edge.streams().unwrap().consume(consumer, Default::default()).await.map(drop)
    };
    consume(events("n1_audit")).await.unwrap();
    let control = ConsumerRef::new(StreamName::Control, "controller".parse().unwrap());
    assert!(consume(control).await.is_err(), "nobody in EDGE reads what is reported");
}

/// The document's worst: a confirmation that is aimed at what its publisher may not publish to.
#[tokio::test]
async fn a_confirmation_that_is_aimed_stays_in_the_account_of_who_published() {
    for (account, kept) in [(Account::Edge, 0), (Account::Whole, 1)] {
        let bed = Bed::new().await;
        let edge = anybody(&bed, account, "e");
        let bus = anybody(&bed, Account::Bus, "b");
        let (mut on_bus, mut on_edge) = (tap(&bus, "aimed").await, tap(&edge, "aimed").await);
        publish(&edge, "mesh.events.mail.sent", Some("aimed")).await;
        assert_eq!(heard(&mut on_edge).await, ["aimed"]);
        assert_eq!(heard(&mut on_bus).await.len(), usize::from(account == Account::Whole));
        publish(&edge, "mesh.events.mail.sent", Some("mesh.build.request")).await;
        publish(&edge, "mesh.control.n1.report", Some("mesh.events.shop.sold")).await;
        let admin = bed.control.administration().unwrap();
        let of = async |stream| admin.inspect(stream).await.unwrap().unwrap().messages;
        assert_eq!(of(StreamName::Builds).await, kept);
        assert_eq!(of(StreamName::Events).await, 2 + kept);
    }
}

#[tokio::test]
async fn an_answer_from_the_other_account_reaches_nobody() {
    use mesh_core::identity::Responder;
    let bed = Bed::new().await;
    let controller = bed.broker.connect_in(Account::Bus, controller(), Permissions::everything());
    let controller = controller.unwrap();
    let (edge, bus) = (anybody(&bed, Account::Edge, "svc"), anybody(&bed, Account::Bus, "svc"));
    let mut asks = tap(&bus, "ask").await;
    let question = message("ask", "");
    let responder = Responder::Module(ModuleName::new("svc").unwrap());
    let second = std::time::Duration::from_secs(1);
    let requests = controller.requests().unwrap();
    let asking = requests.request(responder, question, second);
    let answering = async {
        let asked = asks.next().await.unwrap().unwrap();
        let reply = asked.reply().unwrap().as_str().to_owned();
        for (from, body) in [(&edge, "forged"), (&bus, "true")] {
            let answer = message(&reply, body);
            from.transport().publish(answer, Default::default()).await.unwrap();
        }
    };
    let (answer, ()) = tokio::join!(asking, answering);
    assert_eq!(answer.unwrap().payload().as_ref(), b"true");
}
