use mesh_sdk::Broker;

struct Everything;

fn broker(_: Broker<Everything>) {}

fn main() {}
