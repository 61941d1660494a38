//! The SDK's own way in: a file with a credential, whose URL says which broker it leads to. The same
//! program on memory, NATS and RabbitMQ; on the servers the file is replaced while it runs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod amqp;
mod environment;
mod memory;
mod nats;
mod refusals;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use mesh_core::credential::Credential;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::port::ConnectionState;
use mesh_core::tool::ToolFailure;
use mesh_sdk::{Broker, Health, connect};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const MAIL: &str = "name = 'mail'\nversion = '1'\nemits = ['sent']\ncalls = ['audit.count']";
const AUDIT: &str = "name = 'audit'\nversion = '1'\nconsumes = ['mail.*']
                     tools = [{ name = 'count', description = 'How many letters it saw.' }]";

/// How long one thing may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn manifest(module: &str) -> ModuleManifest {
    let text = if module == "mail" { MAIL } else { AUDIT };
    ModuleManifest::parse(module, text).unwrap()
}

fn mesh() -> Mesh {
    let files = ["mail", "audit"].map(manifest);
    Mesh::on_one_node(&"n1".parse().unwrap(), files).unwrap()
}

/// A broker with the mesh on it.
trait Ground: Sync {
    /// What a module is given to log in with, now.
    fn credential(&self, module: &str) -> Credential;
}

/// One that changes under who uses it.
#[async_trait]
trait Changing: Ground {
    /// Gives a module another password, and ends the connection that it has.
    async fn rotate(&mut self, module: &str);

    /// Ends the connection that a module has.
    async fn cut(&self, module: &str);
}

/// Where the credentials are.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, module: &str) -> PathBuf {
        self.0.path().join(format!("{module}.json"))
    }

    /// Puts a credential in the place of the one before, whole.
    fn put(&self, module: &str, credential: &Credential) {
        let next = self.0.path().join("next");
        std::fs::write(&next, credential.to_document().unwrap().expose()).unwrap();
        std::fs::rename(next, self.path(module)).unwrap();
    }
}

/// `mail` and `audit`, which writes down what it hears.
struct Modules {
    files: Files,
    mail: Broker,
    audit: Broker,
    heard: UnboundedReceiver<String>,
}

impl Modules {
    async fn start(ground: &impl Ground) -> Self {
        let files = Files::new();
        let join = async |module: &str| {
            files.put(module, &ground.credential(module));
            let connection = connect(files.path(module)).await.unwrap();
            Broker::builder(connection).manifest(&manifest(module)).build().unwrap()
        };
        let (mail, audit) = (join("mail").await, join("audit").await);
        let (write, heard) = unbounded_channel();
        let hear = move |event: mesh_sdk::ReceivedEvent| {
            let (event, from) =
                (event.event.data().as_str().to_owned(), event.event.node().clone());
            let _ = write.send(format!("{event} from {from}"));
            std::future::ready(Ok(()))
        };
        audit.subscribe("mail.sent", hear).await.unwrap();
        audit.handle("count", |_| async { Ok::<_, ToolFailure>(1) }).await.unwrap();
        Self { files, mail, audit, heard }
    }

    /// What one says is heard by the other, and what one asks the other answers.
    async fn talk(&mut self, letter: &str) {
        self.mail.publish("sent", letter).await.unwrap();
        let heard = tokio::time::timeout(PATIENCE, self.heard.recv()).await.unwrap().unwrap();
        assert_eq!(heard, format!("{letter:?} from n1"));
        assert_eq!(self.mail.request::<_, _, u32>(("audit", "count"), &()).await.unwrap(), 1);
    }

    /// Returns once `mail` has lost its connection for a reason of these words.
    async fn lost(&self, words: &str) {
        until(&self.mail, words, |health| match &health.connection {
            Some(ConnectionState::Disconnected(error)) => error.to_string().contains(words),
            _ => false,
        })
        .await;
    }

    /// Returns once both are connected again.
    async fn back(&self) {
        for module in [&self.mail, &self.audit] {
            until(module, "connected again", Health::is_well).await;
        }
    }
}

/// Looks until a module's health is such, or fails the test.
async fn until(module: &Broker, what: &str, is: impl Fn(&Health) -> bool) {
    let due = Instant::now() + PATIENCE;
    loop {
        let health = module.health();
        if is(&health) {
            return;
        }
        assert!(Instant::now() < due, "not in time: {what}; it is {health:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A module gets another password: it is connected again with the file as it is then. Another's file in
/// that place is refused, and once its own is back it is connected again.
async fn goes_on_with_the_file_as_it_is(mut ground: impl Changing) {
    let mut modules = Modules::start(&ground).await;
    modules.talk("one").await;

    let old = ground.credential("mail");
    ground.rotate("mail").await;
    let new = ground.credential("mail");
    assert_ne!(old, new);
    modules.lost("refused the log-in").await;
    modules.files.put("mail", &new);
    modules.back().await;
    modules.talk("two").await;

    modules.files.put("mail", &ground.credential("audit"));
    ground.cut("mail").await;
    modules.lost("the credential is now that of module audit on n1, not module mail on n1").await;
    assert_eq!(modules.mail.principal().to_string(), "module mail on n1");
    modules.files.put("mail", &new);
    modules.back().await;
    modules.talk("three").await;
    for module in [modules.mail, modules.audit] {
        assert_eq!(module.close(PATIENCE).await.lost, 0);
    }
}

#[tokio::test]
async fn a_credential_leads_to_the_broker_that_its_url_names() {
    let memory = memory::Memory::raise("way-in").await;
    Modules::start(&memory).await.talk("by memory").await;
    Modules::start(&nats::Nats::raise().await).await.talk("by NATS").await;
    Modules::start(&amqp::Amqp::raise().await).await.talk("by AMQP").await;
}

#[tokio::test]
async fn on_nats_a_rotated_credential_is_read_when_the_connection_is_lost() {
    goes_on_with_the_file_as_it_is(nats::Nats::raise().await).await;
}

#[tokio::test]
async fn on_amqp_a_rotated_credential_is_read_when_the_connection_is_lost() {
    goes_on_with_the_file_as_it_is(amqp::Amqp::raise().await).await;
}
