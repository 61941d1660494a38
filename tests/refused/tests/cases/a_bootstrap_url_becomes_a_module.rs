use mesh_core::credential::Bootstrap;
use mesh_core::identity::Principal;

fn module(bootstrap: &Bootstrap) -> Principal {
    bootstrap.principal().clone()
}

fn main() {}
