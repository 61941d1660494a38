use std::time::Duration;

use mesh_core::manifest::ModuleManifest;
use mesh_core::tool::ToolFailure;
use mesh_sdk::{Broker, HandlerError, connect, credential_path};

/// Counts what is left, and hears what was ordered.
pub(crate) async fn stock() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("stock.toml")?;
    let manifest = ModuleManifest::parse("stock.toml", &text)?;
    let connection = connect(credential_path()?).await?;
    let broker = Broker::builder(connection).manifest(&manifest).build()?;
    let (left, stored) = tokio::sync::watch::channel(10_u32);
    broker
        .handle("count", move |_| std::future::ready(Ok::<_, ToolFailure>(*stored.borrow())))
        .await?;
    broker
        .subscribe("shop.order.placed", move |event| {
            let ordered: Result<u32, HandlerError> = event.decode();
            if let Ok(ordered) = &ordered {
                left.send_modify(|left| *left -= ordered);
            }
            std::future::ready(ordered.map(|_| ()))
        })
        .await?;
    std::fs::write("stock.ready", "")?;
    tokio::signal::ctrl_c().await?;
    broker.close(Duration::from_secs(5)).await;
    Ok(())
}
