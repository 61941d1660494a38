use mesh_sdk::{Asking, Broker, ReceivedEvent};

async fn alice(broker: Broker<Asking>) {
    let _ = broker.subscribe("mail.sent", |_: ReceivedEvent| async { Ok(()) }).await;
}

fn main() {}
