use mesh_sdk::{Broker, Events, Has, Tools};

fn announces<S: Has<Events>>(_: &Broker<S>) {}

fn audit(broker: Broker<Tools>) {
    announces(&broker);
}

fn main() {}
