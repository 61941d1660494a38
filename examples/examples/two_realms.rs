//! Two realms that share nothing but a backbone: a call, an event, and a call that is refused.
//!
//! Run it with `cargo run -p mesh-examples --example two_realms`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use mesh_clock::SystemClock;
use mesh_core::guard::PrefixDeny;
use mesh_core::identity::Principal;
use mesh_core::json::RawJson;
use mesh_core::name::RealmName;
use mesh_federation::edge::EdgeConfig;
use mesh_federation::{Call, RealmClient, RealmOptions, ResolvedClient, Seen};
use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};

/// A realm with a bus of its own, whose component `till` is nobody else's business.
async fn realm(
    name: &str,
    backbone: &InMemoryExactBroker,
) -> Result<RealmClient, Box<dyn std::error::Error>> {
    let gateway = Principal::Gateway { name: name.parse()? };
    let local = InMemoryFilterBroker::new(Arc::new(SystemClock::new())).connect(gateway.clone());
    let mut config = EdgeConfig::new(RealmName::new(format!("{name}.example"))?);
    config.rules = config.rules.policy(PrefixDeny::new(["till"]));
    let outside = ResolvedClient::new(backbone.connect(gateway));
    Ok(RealmClient::start(config, outside, local, RealmOptions::default()).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backbone = InMemoryExactBroker::new(Arc::new(SystemClock::new()));
    let (home, shop) = (realm("home", &backbone).await?, realm("shop", &backbone).await?);

    let count = |call: Call| async move {
        let asker = call.remote.map_or("itself".to_owned(), |remote| remote.realm.to_string());
        println!("shop is asked by {asker}");
        Ok(RawJson::string("7 apples"))
    };
    let _counting = shop.accept("stock.accepts.count".parse()?, count).await?;
    let answer = home.call("matrix://shop.example/stock.accepts.count", &RawJson::NULL).await?;
    println!("home is answered {answer}");

    let mut sales = home.watch("matrix://shop.example/stock.emits.sold").await?;
    shop.emit(&"stock.emits.sold".parse()?, &RawJson::new(r#"{"apples": 2}"#)?).await?;
    if let Seen::Event(sold) = sales.next().await {
        println!("home sees {sold}");
    }

    let refused = home.call("matrix://shop.example/till.accepts.open", &RawJson::NULL).await;
    println!("home is refused: {}", refused.err().ok_or("the till is open")?);
    Ok(())
}
