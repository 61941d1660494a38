//! Two modules on two nodes, events both ways, what caused what, and an event that nobody can handle.
//!
//! Run it with `cargo run -p mesh-examples --example two_modules`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use mesh_core::dead_letter::DeadLetter;
use mesh_core::event::EventId;
use mesh_core::identity::Principal;
use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest};
use mesh_core::permissions::Permissions;
use mesh_core::port::{Position, Subscription};
use mesh_core::subject::Filter;
use mesh_core::topology::{MeshSubject, StreamName};
use mesh_sdk::{Broker, HandlerError};
use mesh_transport_mem::InMemoryMesh;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

const SHOP: &str = "
name = 'shop'
version = '1.0.0'
emits = ['order.placed']
consumes = ['mail.letter.*']";

const MAIL: &str = "
name = 'mail'
version = '1.0.0'
emits = ['letter.sent']
consumes = ['shop.order.*']";

const MESH: &str = "
nodes = [{ name = 'counter' }, { name = 'office' }]
assignments = [
    { module = 'shop', manifest = 'shop.toml', nodes = ['counter'] },
    { module = 'mail', manifest = 'mail.toml', nodes = ['office'] },
]";

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    number: u32,
    email: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Letter {
    about: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let files =
        [ModuleManifest::parse("shop.toml", SHOP)?, ModuleManifest::parse("mail.toml", MAIL)?];
    let mesh = Mesh::resolve(&MeshFile::parse("mesh.toml", MESH)?, &files)?;
    let mesh = InMemoryMesh::raise(mesh).await?;
    let (counter, office) = ("counter".parse()?, "office".parse()?);
    let shop = mesh.module(&counter, &files[0].name)?;
    let shop = Broker::builder(shop).manifest(&files[0]).build()?;
    let mail = mesh.module(&office, &files[1].name)?;
    let mail = Broker::builder(mail).manifest(&files[1]).build()?;

    write_letters(&mail).await?;
    let mut letters = note_letters(&shop).await?;
    let mut dead = hear_dead_letters(&mesh).await?;

    let order = Order { number: 7, email: Some("bob@example.org".to_owned()) };
    let placed = shop.publish("order.placed", &order).await?;
    let (letter, cause) = letters.recv().await.ok_or("no letter")?;
    println!("shop: the letter about order {} was sent", letter.about);
    println!("its cause is the event of that order: {}", cause == Some(placed.id));

    // Nobody can write to this one: it is given up at once, and kept with the reason.
    shop.publish("order.placed", &Order { number: 8, email: None }).await?;
    dead.next().await.ok_or("it ended")??;
    let kept = last_dead_letter(&mesh).await?;
    println!("dead letter of {}: {}", kept.consumer.consumer, kept.reason);
    println!("  subject: {}", kept.subject.ok_or("no subject")?);
    println!("  error: {}", kept.error.ok_or("no error")?);

    for (name, module) in [("shop", shop), ("mail", mail)] {
        let closed = module.close(Duration::from_secs(5)).await;
        println!("{name} leaves, and {} are lost", closed.lost);
    }
    Ok(())
}

/// What `mail` does: a letter for each order. The event it publishes names the order's as its cause.
async fn write_letters(mail: &Broker) -> Result<(), Box<dyn Error>> {
    let own = mail.clone();
    let write = move |event: mesh_sdk::ReceivedEvent| {
        let mail = own.clone();
        async move {
            let order: Order = event.decode()?;
            let Some(to) = order.email else {
                return Err(HandlerError::reject(format!("order {} has no address", order.number)));
            };
            println!("mail: {} told of order {}, {to} gets a letter", event.module, order.number);
            mail.publish("letter.sent", &Letter { about: order.number }).await?;
            Ok(())
        }
    };
    Ok(mail.subscribe("shop.order.placed", write).await?)
}

/// What `shop` does with letters: it passes them on, with what caused them.
async fn note_letters(
    shop: &Broker,
) -> Result<mpsc::Receiver<(Letter, Option<EventId>)>, Box<dyn Error>> {
    let (note, notes) = mpsc::channel(8);
    let take = move |event: mesh_sdk::ReceivedEvent| {
        let note = note.clone();
        async move {
            let letter = event.decode()?;
            note.send((letter, event.event.causation().cloned())).await?;
            Ok(())
        }
    };
    shop.subscribe("mail.letter.sent", take).await?;
    Ok(notes)
}

/// Listens as somebody who may hear them, which no module may.
async fn hear_dead_letters(mesh: &InMemoryMesh) -> Result<Subscription, Box<dyn Error>> {
    let person = Principal::Person { name: "operator".parse()? };
    let operator = mesh.broker().connect(person, Permissions::everything())?;
    let dead = Filter::from(MeshSubject::DeadLetter.to_subject()?);
    Ok(operator.transport().subscribe(dead, Default::default()).await?)
}

async fn last_dead_letter(mesh: &InMemoryMesh) -> Result<DeadLetter, Box<dyn Error>> {
    let last = Position::LastOf(MeshSubject::DeadLetter.to_subject()?);
    let stored = mesh.controller().administration()?.read(StreamName::EventsDead, last).await?;
    Ok(DeadLetter::parse(&stored.ok_or("no dead letter")?.message)?)
}
