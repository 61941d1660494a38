//! An event published and handled, and a tool asked, on a mesh in memory.
//!
//! Run it with `cargo run -p mesh-examples --example quickstart`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::subject::Filter;
use mesh_core::tool::ToolFailure;
use mesh_sdk::Broker;
use mesh_transport_mem::InMemoryMesh;

const MAIL: &str = "name = 'mail'\nversion = '1'\nemits = ['sent']\ncalls = ['audit.count']";
const AUDIT: &str = "name = 'audit'\nversion = '1'\nconsumes = ['mail.*']\n
    [[tools]]\nname = 'count'\ndescription = 'How many events it saw.'";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = "n1".parse()?;
    let manifests = [ModuleManifest::parse("mail", MAIL)?, ModuleManifest::parse("audit", AUDIT)?];
    let mesh = InMemoryMesh::raise(Mesh::on_one_node(&node, manifests)?).await?;
    let mail = Broker::builder(mesh.module(&node, &"mail".parse()?)?).build();
    let audit = Broker::builder(mesh.module(&node, &"audit".parse()?)?)
        .consumes([Filter::new("mail.*")?])
        .build();

    let (seen, mut heard) = tokio::sync::mpsc::channel(1);
    audit
        .subscribe("mail.sent", move |event| {
            let seen = seen.clone();
            async move { Ok(seen.send(event.decode::<String>()?).await?) }
        })
        .await?;
    audit.handle("count", |_| async { Ok::<_, ToolFailure>(1) }).await?;

    mail.publish("sent", "a letter to bob").await?;
    println!("audit heard of {}", heard.recv().await.ok_or("nothing came")?);
    let count: u32 = mail.request(("audit", "count"), &()).await?;
    println!("audit counts {count}");
    Ok(())
}
