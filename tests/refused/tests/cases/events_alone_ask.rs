use mesh_sdk::{Broker, Events, RequestError};

async fn audit(broker: Broker<Events>) {
    let _: Result<u32, RequestError> = broker.request(("audit", "count"), &()).await;
}

fn main() {}
