use std::time::Duration;

use mesh_core::manifest::ModuleManifest;
use mesh_sdk::{Broker, RequestError, connect, credential_path};

/// Orders one, sees that it is gone, and asks for what it may not have.
pub(crate) async fn shop() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("shop.toml")?;
    let manifest = ModuleManifest::parse("shop.toml", &text)?;
    let connection = connect(credential_path()?).await?;
    let broker = Broker::builder(connection).manifest(&manifest).build()?;
    let before: u32 = broker.request(("stock", "count"), &()).await?;
    broker.publish("order.placed", &1).await?;
    let mut left = before;
    while left == before {
        left = broker.request(("stock", "count"), &()).await?;
    }
    println!("stock had {before}, and has {left}");
    match broker.request::<_, _, u32>(("ledger", "balance"), &()).await {
        Err(RequestError::Denied(_)) => println!("shop may not ask ledger.balance"),
        Err(RequestError::Unavailable(_)) => {
            println!("shop may ask ledger.balance, and nobody serves it");
        }
        other => println!("{other:?}"),
    }
    broker.close(Duration::from_secs(5)).await;
    Ok(())
}
