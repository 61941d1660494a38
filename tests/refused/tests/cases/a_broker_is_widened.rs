use mesh_sdk::{Asking, Broker, Events};

fn widened(broker: Broker<Asking>) -> Broker<Events> {
    broker.only::<Events>()
}

fn main() {}
