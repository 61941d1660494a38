mod can;
mod diff;
mod gain;

use crate::compose::{Composition, More, Source};

const MESH: &str = "\
nodes = [{ name = 'n1' }, { name = 'n2' }]

[[assignments]]
module = 'mail'
manifest = 'mail.toml'
nodes = ['n1']

[[assignments]]
module = 'vault'
manifest = 'vault.toml'
nodes = ['n1', 'n2']

[[people]]
name = 'ann'
administrator = true

[[people]]
name = 'bob'
tools = ['vault.open']
";

const MAIL: &str = "\
name = 'mail'
version = '1'
emits = ['sent']
consumes = ['vault.*']
calls = ['vault.open']
tools = [{ name = 'send', description = 'Sends.' }]
";

const VAULT: &str = "\
name = 'vault'
version = '1'
emits = ['opened']
tools = [{ name = 'open', description = 'Opens.' }]
provides = [{ name = 'box', credential = ['url'] }]
";

/// The mesh of these files, with some words in place of others.
fn composed(changes: &[(&str, &str)]) -> Composition {
    let text = |text: &str| {
        changes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let (mesh, mail, vault) = (text(MESH), text(MAIL), text(VAULT));
    assert!(
        changes.iter().all(|(_, to)| mesh.contains(to) || mail.contains(to) || vault.contains(to)),
        "nothing was changed: {changes:?}"
    );
    Composition::of(
        Source { file: "mesh.toml", text: &mesh },
        &[Source { file: "mail.toml", text: &mail }, Source { file: "vault.toml", text: &vault }],
        &More::default(),
    )
    .unwrap()
}
