use mesh_testkit::expect::expect_soon;
use mesh_testkit::servers::ServerError;
use mesh_testkit::servers::rabbit::{Account, Definitions, RabbitServer, VirtualHost, shared};
use serde_json::json;

use crate::rabbit_amqp::Amqp;

/// A mesh of two modules, as `rabbitmqctl export_definitions` would write it.
const MESH: &str = include_str!("../fixtures/rabbitmq-definitions.json");

async fn enters(server: &RabbitServer, who: (&str, &str), host: &VirtualHost) -> Result<Amqp, u16> {
    Amqp::login(server.address(), server.certificate(), who, host.name()).await
}

#[tokio::test]
async fn what_is_in_one_virtual_host_is_not_in_another() {
    let server = shared().await.unwrap();
    let one = server.virtual_host().await.unwrap();
    let other = server.virtual_host().await.unwrap();
    assert_ne!(one.name(), other.name());
    let ann = Account::new("host.ann", "p@ss/1").all_rights();
    one.account(&ann).await.unwrap();
    let login = (ann.name(), ann.password());
    let mut client = enters(server, login, &one).await.unwrap();
    // A node knows nobody but those whom tests add.
    assert!(server.management().find(&["users", "guest"]).await.unwrap().is_none());
    assert_eq!(enters(server, ("guest", "guest"), &one).await.err(), Some(403));
    client.declare("q", false).await.unwrap();
    assert_eq!(enters(server, login, &other).await.err(), Some(530));
    assert_eq!(enters(server, ("host.ann", "wrong"), &one).await.err(), Some(403));
    // With rights there, too: another queue of that name, or none.
    other.account(&ann).await.unwrap();
    let mut elsewhere = enters(server, login, &other).await.unwrap();
    assert_eq!(elsewhere.declare("q", true).await, Err(404));
    assert_eq!(client.declare("q", true).await, Ok(()));
    assert_eq!(
        one.url_of("host.ann", "p@ss/1"),
        format!("amqps://host%2Eann:p%40ss%2F1@{}/test%2D{}", server.address(), &one.name()[5..])
    );
}

#[tokio::test]
async fn a_dropped_virtual_host_is_gone_and_so_are_its_connections() {
    let server = shared().await.unwrap();
    let host = server.virtual_host().await.unwrap();
    let (name, management) = (host.name().to_owned(), server.management());
    host.account(&Account::new("host.bob", "b").all_rights()).await.unwrap();
    let mut client = enters(server, ("host.bob", "b"), &host).await.unwrap();
    assert!(management.find(&["vhosts", &name]).await.unwrap().is_some());
    drop(host);
    assert!(management.find(&["vhosts", &name]).await.unwrap().is_none());
    assert_eq!(client.closed().await, 320);
    let host = server.virtual_host().await.unwrap();
    let name = host.name().to_owned();
    host.remove().await.unwrap();
    assert!(management.find(&["vhosts", &name]).await.unwrap().is_none());
}

#[tokio::test]
async fn an_account_has_the_rights_that_it_was_given() {
    let server = shared().await.unwrap();
    let host = server.virtual_host().await.unwrap();
    let account =
        Account::new("host.cid", "c").rights("^mine$", "", "^mine$").topic("t", "^k$", "");
    let broken = host.account(&Account::new("host.cid", "c").rights("(", "", "")).await;
    assert!(matches!(broken, Err(ServerError::Status { status: 400, .. })), "{broken:?}");
    host.account(&account).await.unwrap();
    let mut client = enters(server, ("host.cid", "c"), &host).await.unwrap();
    assert_eq!(client.declare("other", false).await, Err(403));
    assert_eq!(client.declare("mine", false).await, Ok(()));
    let told = host.account(&Account::new("host.cid", "d")).await.unwrap_err();
    assert!(matches!(told, ServerError::Refused(_)), "{told}");
    host.remove_user("host.cid").await.unwrap();
    assert_eq!(client.closed().await, 320);
    let gone = host.remove_user("host.cid").await.unwrap_err();
    assert!(matches!(gone, ServerError::Status { status: 404, .. }), "{gone}");
}

#[tokio::test]
async fn definitions_of_a_mesh_come_into_a_virtual_host_row_by_row() {
    let server = shared().await.unwrap();
    let host = server.virtual_host().await.unwrap();
    let mesh = Definitions::parse(MESH).unwrap();
    host.import(&mesh).await.unwrap();
    // Once more, as another test would.
    host.import(&mesh).await.unwrap();
    let management = host.management();
    // What it tells of a queue may be a second old.
    let queue = ["queues", host.name(), "n1.m1.events"];
    let told = expect_soon("the queue's policy", async {
        loop {
            let told = management.get(&queue).await.unwrap();
            if told["policy"] == "events" {
                return told;
            }
        }
    });
    assert_eq!(told.await["type"], "quorum");
    let topics = management.get(&["vhosts", host.name(), "topic-permissions"]).await.unwrap();
    assert_eq!(topics.as_array().unwrap().len(), 2);
    let mut module = enters(server, ("n1.m1", "secret"), &host).await.unwrap();
    assert_eq!(module.declare("n1.m1.events", true).await, Ok(()));
    assert_eq!(module.declare("n1.m2.events", true).await, Err(404));
    assert_eq!(module.declare("n1.m2.events", false).await, Err(403));
}

#[tokio::test]
async fn a_row_that_does_not_come_through_is_told() {
    let server = shared().await.unwrap();
    let host = server.virtual_host().await.unwrap();
    let bad = Definitions::new().queue("", "good", &json!({})).queue(
        "",
        "bad",
        &json!({ "x-queue-type": "nonsense" }),
    );
    let told = host.import(&bad).await.unwrap_err();
    assert!(matches!(told, ServerError::Status { status: 400, .. }), "{told}");
    // The node says that all is well, and leaves what is there as it is.
    host.import(&Definitions::new().exchange("", "t", "topic")).await.unwrap();
    let told = host.import(&Definitions::new().exchange("", "t", "fanout")).await.unwrap_err();
    assert!(told.to_string().contains(&format!("exchanges \"{}\" \"t\"", host.name())), "{told}");
    let nobody = Definitions::new()
        .row(
            "permissions",
            json!({ "vhost": "", "user": "nobody", "configure": "", "write": "", "read": "" }),
        )
        .unwrap();
    let told = host.import(&nobody).await.unwrap_err();
    assert!(matches!(told, ServerError::Status { status: 400, .. }), "{told}");
}
