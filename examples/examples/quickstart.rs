//! An event published and handled, and a tool asked, on a mesh in memory.
//!
//! Run it with `cargo run -p mesh-examples --example quickstart`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::future::ready;

use mesh_sdk::core::manifest::{Mesh, ModuleManifest};
use mesh_sdk::core::tool::ToolFailure;
use mesh_sdk::memory::InMemoryMesh;
use mesh_sdk::{Broker, ReceivedEvent};
use serde_json::json;

const MAIL: &str = "
name = 'mail'
version = '1.0.0'
emits = ['sent']
calls = ['audit.count']";

const AUDIT: &str = "
name = 'audit'
version = '1.0.0'
consumes = ['mail.*']
tools = [{ name = 'count', description = 'How many letters it saw.' }]";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = "n1".parse()?;
    let files = [ModuleManifest::parse("mail", MAIL)?, ModuleManifest::parse("audit", AUDIT)?];
    let mesh = InMemoryMesh::raise(Mesh::on_one_node(&node, files.clone())?).await?;
    let mail = Broker::builder(mesh.module(&node, &files[0].name)?).manifest(&files[0]).build()?;
    let audit = Broker::builder(mesh.module(&node, &files[1].name)?).manifest(&files[1]).build()?;

    let (saw, mut seen) = tokio::sync::watch::channel(0);
    let count = seen.clone();
    audit.handle("count", move |_| ready(Ok::<_, ToolFailure>(*count.borrow()))).await?;
    let note = move |event: ReceivedEvent| {
        println!("audit saw {}", event.event.data().as_str());
        saw.send_modify(|letters| *letters += 1);
        ready(Ok(()))
    };
    audit.subscribe("mail.sent", note).await?;

    mail.publish("sent", &json!({"to": "bob"})).await?;
    seen.wait_for(|letters| *letters > 0).await?;
    let letters: u32 = mail.request(("audit", "count"), &()).await?;
    println!("audit counts {letters}");
    Ok(())
}
