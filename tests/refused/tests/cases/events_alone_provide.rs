use mesh_sdk::provision::{ProvideError, Provider, Provisioner};
use mesh_sdk::{Broker, Events};

async fn bank(broker: Broker<Events>, bank: impl Provisioner) -> Result<(), ProvideError> {
    Provider::new(bank).serve(&broker).await
}

fn main() {}
