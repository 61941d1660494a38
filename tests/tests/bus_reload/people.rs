//! A mesh with as many people as one asks for.

use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest};
use mesh_core::permissions::Permissions;
use mesh_testkit::fixtures::{permissions, person};
use mesh_testkit::servers::nats::{Account, Layout, User};

const TOOL: &str = "name = 'tool'\nversion = '1'\ntools = [{ name = 'echo', description = 'Answers what it is asked.' }]\n";
const CALLER: &str = "name = 'caller'\nversion = '1'\ncalls = ['tool.echo']\n";
const SOURCE: &str = "name = 'source'\nversion = '1'\nemits = ['made']\n";
const SINK: &str = "name = 'sink'\nversion = '1'\nconsumes = ['source.made']\n";

/// Four modules that call, answer, emit and consume.
pub fn mesh() -> Mesh {
    let file = "nodes = [{ name = 'n1' }]\nassignments = [
        { module = 'tool', manifest = 'tool.toml', nodes = ['n1'] },
        { module = 'caller', manifest = 'caller.toml', nodes = ['n1'] },
        { module = 'source', manifest = 'source.toml', nodes = ['n1'] },
        { module = 'sink', manifest = 'sink.toml', nodes = ['n1'] },
    ]\n";
    let modules = [
        ("tool.toml", TOOL),
        ("caller.toml", CALLER),
        ("source.toml", SOURCE),
        ("sink.toml", SINK),
    ];
    let modules: Vec<_> = modules
        .into_iter()
        .map(|(file, text)| ModuleManifest::parse(file, text).unwrap())
        .collect();
    Mesh::resolve(&MeshFile::parse("mesh.toml", file).unwrap(), &modules).unwrap()
}

/// The mesh's users.
pub fn layout() -> Layout {
    Layout::split(&mesh()).unwrap()
}

/// The same with one more person.
pub fn with(layout: &Layout, name: &str) -> Layout {
    layout.clone().with_user(user(name))
}

pub fn user(name: &str) -> User {
    let person = person(name);
    let rights: Permissions = permissions(&person, &[], &[]);
    User::named(name, Account::Edge, person, rights).unwrap()
}
