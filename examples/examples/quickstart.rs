//! An event published and handled, and a tool asked, on a mesh in memory.
//!
//! Run it with `cargo run -p mesh-examples --example quickstart`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::tool::ToolFailure;
use mesh_sdk::Broker;
use mesh_transport_mem::InMemoryMesh;

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
    let (node, mail, audit) = ("n1".parse()?, "mail".parse()?, "audit".parse()?);
    let files = [ModuleManifest::parse("mail", MAIL)?, ModuleManifest::parse("audit", AUDIT)?];
    let mesh = InMemoryMesh::raise(Mesh::on_one_node(&node, files.clone())?).await?;
    let mail = Broker::builder(mesh.module(&node, &mail)?).manifest(&files[0]).build()?;
    let audit = Broker::builder(mesh.module(&node, &audit)?).manifest(&files[1]).build()?;

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
    Ok(())
}
