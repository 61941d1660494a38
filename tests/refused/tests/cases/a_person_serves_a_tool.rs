use mesh_core::tool::ToolFailure;
use mesh_sdk::{Asking, Broker, ToolCall};

async fn alice(broker: Broker<Asking>) {
    let _ = broker.handle("count", |_: ToolCall| async { Ok::<u32, ToolFailure>(1) }).await;
}

fn main() {}
