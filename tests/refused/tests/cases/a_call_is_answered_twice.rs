use mesh_core::message::Headers;
use mesh_core::port::Call;

async fn twice(call: Call) {
    let _ = call.answer(Headers::default(), "{}".into()).await;
    let _ = call.answer(Headers::default(), "{}".into()).await;
}

fn main() {}
