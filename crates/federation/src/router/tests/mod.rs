mod bridge;
mod properties;
mod routes;
mod stubborn;
mod tree;

use mesh_core::name::RealmName;

use super::Routes;

fn realm(text: &str) -> RealmName {
    RealmName::new(text).unwrap()
}

/// The routes of a realm with this parent, `-` for none, and these children.
fn routes(name: &str, parent: &str, children: &[&str]) -> Routes {
    let mut routes = Routes::new(realm(name));
    if parent != "-" {
        routes.set_parent(Some(realm(parent))).unwrap();
    }
    for child in children {
        routes.add_child(realm(child)).unwrap();
    }
    routes
}
