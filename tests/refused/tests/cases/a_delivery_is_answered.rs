use mesh_core::message::Headers;
use mesh_core::port::Delivery;

async fn answer(delivery: Delivery) {
    let _ = delivery.answer(Headers::default(), "{}".into()).await;
}

fn main() {}
