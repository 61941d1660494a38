//! The composer: what follows from a mesh's files, and what does not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod answers;
mod golden;
mod lines;
mod order;
mod refusals;

use std::collections::BTreeMap;

use mesh_control::compose::{Composition, More, Source, Verifier};

/// The bytes of a hash; nobody knows what of.
const HASH: &str = "$2b$04$EgcJGzFHQy0BvbkZVsYpHOFH8JqRTPu3ZGcJk7nRYG8/wqCYxyGsi";
const KEY: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

const MESH: &str = "
nodes = [{ name = 'n1' }, { name = 'n2' }]
people = [
    { name = 'ada', administrator = true },
    { name = 'bob', tools = ['mail.send'] },
]
assignments = [
    { module = 'mail', manifest = 'modules/mail.toml', nodes = ['n1', 'n2'] },
    { module = 'audit', manifest = 'modules/audit.toml', nodes = ['n2'] },
    { module = 'db', manifest = 'modules/db.toml', nodes = ['n1'] },
]
";
const MAIL: &str = "
name = 'mail'
version = '1'
emits = ['sent', 'letter.lost']
calls = ['audit.count']
requires = [{ provision = 'database' }]
[[tools]]
name = 'send'
description = 'Sends.'
timeout = '2m'
";
const AUDIT: &str = "
name = 'audit'
version = '1'
consumes = ['mail.*', 'mail.letter.lost']
tools = [{ name = 'count', description = 'Counts.' }]
";
const DB: &str = "
name = 'db'
version = '1'
provides = [{ name = 'database', credential = ['url'] }]
";

/// The small mesh's manifests.
fn manifests() -> [Source<'static>; 3] {
    [("modules/mail.toml", MAIL), ("modules/audit.toml", AUDIT), ("modules/db.toml", DB)]
        .map(|(file, text)| Source { file, text })
}

fn compose(mesh: &str, manifests: &[Source<'_>]) -> Composition {
    compose_with(mesh, manifests, &More::default())
}

fn compose_with(mesh: &str, manifests: &[Source<'_>], more: &More) -> Composition {
    let mesh = Source { file: "mesh.toml", text: mesh };
    Composition::of(mesh, manifests, more).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The same verifier for every user; a key each, where `keys` says so, has to be another one.
fn hashes(composition: &Composition) -> BTreeMap<String, Verifier> {
    let users = composition.users().iter();
    users.map(|user| (user.name().to_owned(), Verifier::bcrypt(HASH).unwrap())).collect()
}
