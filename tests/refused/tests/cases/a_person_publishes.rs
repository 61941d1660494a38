use mesh_sdk::{Asking, Broker};

async fn alice(broker: Broker<Asking>) {
    let _ = broker.publish("sent", "bob").await;
}

fn main() {}
