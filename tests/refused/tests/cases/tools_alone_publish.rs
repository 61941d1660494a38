use mesh_sdk::{Broker, Tools};

async fn audit(broker: Broker<Tools>) {
    let _ = broker.publish("sent", "bob").await;
}

fn main() {}
