use mesh_sdk::Broker;

struct Everything;

fn broker(broker: Broker<Everything>) {
    drop(broker);
}

fn main() {}
