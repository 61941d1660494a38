//! Two modules on a RabbitMQ, each with a credential of its own, and what they are refused.
//!
//! Run it with `cargo run -p mesh-examples --example on_amqp`, where RabbitMQ 3.10 or newer is installed. It
//! starts one for itself; in a service of your own everything from `set_up` on is the same.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::port::{Connection, DriftMode, TransportError};
use mesh_core::tool::ToolFailure;
use mesh_sdk::{Broker, RequestError};
use mesh_testkit::servers::rabbit::{Layout, MeshServer};
use mesh_transport_amqp::{AmqpOptions, Source, connect};

type Failure = Box<dyn std::error::Error>;

const MAIL: &str = "
name = 'mail'
version = '1.0.0'
emits = ['sent']
calls = ['audit.count', 'audit.purge']";

const AUDIT: &str = "
name = 'audit'
version = '1.0.0'
consumes = ['mail.*']
tools = [
    { name = 'count', description = 'How many letters it saw.' },
    { name = 'purge', description = 'Forgets them.' },
]";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let files = [ModuleManifest::parse("mail", MAIL)?, ModuleManifest::parse("audit", AUDIT)?];
    let mesh = Mesh::on_one_node(&"n1".parse()?, files.clone())?;

    // Whoever runs the broker gives out the files: docs/amqp.md says how to set one up.
    let server = MeshServer::launch(Layout::of(&mesh)?).await?;
    let folder = tempfile::tempdir()?;
    for user in server.layout().users() {
        let document = server.credential(user)?.to_document()?;
        std::fs::write(file(folder.path(), user.name()), document.expose())?;
    }

    let controller = dial(file(folder.path(), "substrate")).await?;
    set_up(&controller, &mesh).await?;

    let audit = dial(file(folder.path(), "n1.audit")).await?;
    let audit = Broker::builder(audit).manifest(&files[1]).build()?;
    let mail = dial(file(folder.path(), "n1.mail")).await?;
    let mail = Broker::builder(mail).manifest(&files[0]).build()?;
    work(&mail, &audit).await?;

    // What a handler was at just now is finished first, and counted.
    for (name, module) in [("mail", mail), ("audit", audit)] {
        let left = module.close(Duration::from_secs(5)).await;
        println!("{name} leaves, and {} are lost", left.lost);
    }
    Ok(())
}

fn file(folder: &Path, user: &str) -> PathBuf {
    folder.join(format!("{user}.json"))
}

/// Connects; the certificate is the pinned one, or no log-in is sent.
async fn dial(file: PathBuf) -> Result<Connection, TransportError> {
    connect(Source::file(file), AmqpOptions::default()).await
}

/// Makes the queues of durable consumers, which can be repeated whenever the files have changed.
async fn set_up(controller: &Connection, mesh: &Mesh) -> Result<(), Failure> {
    let topology = mesh.topology()?;
    // A queue is never changed here: one that is otherwise is told, and left.
    for drift in controller.administration()?.assert(&topology, DriftMode::Report).await? {
        println!("was otherwise: {drift:?}");
    }
    Ok(())
}

async fn work(mail: &Broker, audit: &Broker) -> Result<(), Failure> {
    let (saw, mut seen) = tokio::sync::watch::channel(0);
    let count = seen.clone();
    audit
        .handle("count", move |_| std::future::ready(Ok::<_, ToolFailure>(*count.borrow())))
        .await?;
    audit
        .subscribe("mail.sent", move |event| {
            println!("audit saw {}", event.event.data().as_str());
            saw.send_modify(|letters| *letters += 1);
            std::future::ready(Ok(()))
        })
        .await?;

    mail.publish("sent", &serde_json::json!({"to": "bob"})).await?;
    seen.wait_for(|letters| *letters > 0).await?;
    let letters: u32 = mail.request(("audit", "count"), &()).await?;
    println!("audit counts {letters}");

    for (module, tool) in [("audit", "purge"), ("vault", "open")] {
        match mail.request::<_, _, ()>((module, tool), &()).await {
            Ok(()) => println!("{module}.{tool} is done"),
            Err(RequestError::Unavailable(_)) => println!("nobody serves {module}.{tool} now"),
            Err(RequestError::Denied(_)) => println!("mail may not call {module}.{tool}"),
            Err(other) => return Err(other.into()),
        }
    }
    Ok(())
}
