use mesh_core::port::Delivery;

async fn twice(delivery: Delivery) {
    let _ = delivery.ack().await;
    let _ = delivery.ack().await;
}

fn main() {}
