//! The code that `docs/embedding.md` shows and no example has: a service's handlers, and how they are tested.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_sdk::{Broker, HandlerError, ReceivedEvent, RetryPolicy, SubscribeError, Subscription};
use mesh_store::{Store, StoreOptions};
use mesh_testkit::clock::ManualClock;
use mesh_transport_mem::{InMemoryDurableBroker, InMemoryMesh};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;

const SHOP: &str = "
name = 'shop'
version = '1.0.0'
emits = ['order.placed']
calls = ['mail.count']";

const MAIL: &str = "
name = 'mail'
version = '1.0.0'
consumes = ['shop.order.*']
tools = [{ name = 'count', description = 'How many letters it has sent.' }]";

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    number: u32,
    email: Option<String>,
}

/// Whatever takes letters, at once: the world outside, which may fail.
trait Post: Send + Sync + 'static {
    fn send(&self, to: &str, about: u32) -> std::io::Result<()>;
}

/// What the service does on any mesh: a program hands it a broker that was dialled, a test one in memory.
async fn serve(mail: &Broker, post: Arc<dyn Post>) -> Result<(), SubscribeError> {
    mail.subscribe("shop.order.placed", letters(post)).await
}

/// Writes a letter for an order.
fn letters(post: Arc<dyn Post>) -> impl Fn(ReceivedEvent) -> Ready<Result<(), HandlerError>> {
    move |event| ready(letter(&*post, &event))
}

fn letter(post: &dyn Post, event: &ReceivedEvent) -> Result<(), HandlerError> {
    let order: Order = event.decode()?; // not an order: another try would not help
    let Some(to) = order.email else {
        return Err(HandlerError::reject(format!("order {} has no address", order.number)));
    };
    post.send(&to, order.number)?; // any error: another try, after a wait
    Ok(())
}

/// The same, and to one person in the order of the orders.
async fn serve_in_order(mail: &Broker, post: Arc<dyn Post>) -> Result<(), SubscribeError> {
    let orders = Subscription::new("shop.order.placed".parse()?).ordered_by(|event| {
        let order = event.decode::<Order>();
        order.ok().and_then(|order| order.email).unwrap_or_default()
    });
    mail.subscribe(orders, letters(post)).await
}

/// A post office that fails as often as it is told to, and tells how it stands.
struct Scripted {
    failures: Mutex<VecDeque<&'static str>>,
    sent: watch::Sender<Vec<u32>>,
}

impl Post for Scripted {
    fn send(&self, _to: &str, about: u32) -> std::io::Result<()> {
        if let Some(failure) = self.failures.lock().pop_front() {
            return Err(std::io::Error::other(failure));
        }
        self.sent.send_modify(|sent| sent.push(about));
        Ok(())
    }
}

#[tokio::test]
async fn a_letter_is_sent_once_the_post_office_is_back() {
    let clock = ManualClock::new();
    let (_mesh, _, shop, mail) = raise(&clock).await;
    let sent = watch::Sender::new(Vec::new());
    let mut letters = sent.subscribe();
    let failures = Mutex::new(["no line", "no line"].into());
    serve(&mail, Arc::new(Scripted { failures, sent })).await.unwrap();
    let order = Order { number: 7, email: Some("bob@example.org".to_owned()) };
    shop.publish("order.placed", &order).await.unwrap();

    // Two failures, two waits: 1 s and 2 s, which take no time here.
    let policy = RetryPolicy::default();
    for attempt in 1..=2 {
        clock.advance(policy.after(attempt) - Duration::from_millis(1)).await;
        assert!(letters.borrow().is_empty(), "before try {}", attempt + 1);
        clock.advance(Duration::from_millis(1)).await;
    }
    letters.wait_for(|sent| *sent == [7]).await.unwrap();
}

/// A mesh in memory whose time is moved by hand, with a broker for each module.
async fn raise(clock: &ManualClock) -> (InMemoryMesh, [ModuleManifest; 2], Broker, Broker) {
    let files = [("shop.toml", SHOP), ("mail.toml", MAIL)]
        .map(|(name, text)| ModuleManifest::parse(name, text).unwrap());
    let mesh = Mesh::on_one_node(&"n1".parse().unwrap(), files.clone()).unwrap();
    let broker = InMemoryDurableBroker::new(Arc::new(clock.clone()));
    let mesh = InMemoryMesh::raise_on(broker, mesh).await.unwrap();
    let [shop, mail] = files.each_ref().map(|file| {
        let connection = mesh.module(&"n1".parse().unwrap(), &file.name).unwrap();
        Broker::builder(connection).manifest(file).build().unwrap()
    });
    (mesh, files, shop, mail)
}

#[tokio::test]
async fn letters_to_one_person_go_in_the_order_of_the_orders() {
    let clock = ManualClock::new();
    let (_mesh, _, shop, mail) = raise(&clock).await;
    let sent = watch::Sender::new(Vec::new());
    let mut letters = sent.subscribe();
    let failures = Mutex::new(["no line"].into());
    serve_in_order(&mail, Arc::new(Scripted { failures, sent })).await.unwrap();
    for (number, to) in [(1, "bob"), (2, "bob"), (3, "ann")] {
        let order = Order { number, email: Some(format!("{to}@example.org")) };
        shop.publish("order.placed", &order).await.unwrap();
    }
    letters.wait_for(|sent| *sent == [3]).await.unwrap();
    clock.advance(RetryPolicy::default().after(1)).await;
    letters.wait_for(|sent| *sent == [3, 1, 2]).await.unwrap();
}

#[tokio::test]
async fn what_was_handled_is_kept_in_a_file() {
    let (mesh, files, shop, _) = raise(&ManualClock::new()).await;
    let node = "n1".parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.store");

    let clock = Arc::new(SystemClock::new());
    let store = Store::open(&path, clock, StoreOptions::default()).await.unwrap();
    let connection = mesh.module(&node, &files[1].name).unwrap();
    let mail = Broker::builder(connection).manifest(&files[1]).handled(Arc::new(store.clone()));
    let mail = mail.build().unwrap();
    let sent = watch::Sender::new(Vec::new());
    let mut letters = sent.subscribe();
    serve(&mail, Arc::new(Scripted { failures: Mutex::default(), sent })).await.unwrap();
    let order = Order { number: 7, email: Some("bob@example.org".to_owned()) };
    shop.publish("order.placed", &order).await.unwrap();
    letters.wait_for(|sent| *sent == [7]).await.unwrap();
    mail.close(Duration::from_secs(5)).await;
    store.close().await;
    assert!(path.exists());
}

#[tokio::test]
async fn an_event_that_the_manifest_forgets_fails_with_the_line_to_add() {
    let (_mesh, _, shop, _) = raise(&ManualClock::new()).await;
    // Published, and forgotten in the manifest.
    let refused = shop.publish("order.cancelled", &json!({"number": 7})).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "append mesh.events.shop.order.cancelled: denied \
         (shop.toml:4 lacks it: emits = [\"order.placed\", \"order.cancelled\"])"
    );
}

#[tokio::test]
async fn whoever_is_revoked_in_a_test_is_gone_as_on_a_server() {
    let (mesh, files, shop, _) = raise(&ManualClock::new()).await;
    let shop_on_n1 =
        Principal::Module { node: "n1".parse().unwrap(), module: files[0].name.clone() };
    assert_eq!(mesh.revoke(&shop_on_n1), 1);
    let refused = shop.publish("order.placed", &json!({"number": 7})).await.unwrap_err();
    assert!(refused.to_string().contains("disconnected"), "{refused}");
    assert!(mesh.connect(shop_on_n1).is_err());
}
