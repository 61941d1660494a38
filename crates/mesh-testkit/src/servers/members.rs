use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;

/// Everybody whom the files know but the controller: a host and a builder for each node, every module on
/// each of its nodes, and every person.
pub(super) fn everybody(mesh: &Mesh) -> Vec<Principal> {
    let nodes = || mesh.nodes().iter().cloned();
    let hosts = nodes().map(|node| Principal::Host { node });
    let builders = nodes().map(|node| Principal::Builder { node });
    let modules = mesh
        .instances()
        .map(|instance| Principal::Module { node: instance.node, module: instance.module });
    let people = mesh.people().map(|(name, _)| Principal::Person { name: name.clone() });
    hosts.chain(builders).chain(modules).chain(people).collect()
}
