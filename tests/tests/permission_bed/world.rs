//! Random meshes with their composition.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mesh_control::compose::{Composition, Gateway, More, Source};
use mesh_core::mx::MailboxKind;
use mesh_core::port::QueueGroup;
use mesh_testkit::strategies::{MeshText, mesh};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// How the accounts are made.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    pub name: &'static str,
    pub bus: &'static str,
}

pub const SPLIT_SCOPED: Mode = Mode { name: "split, scoped", bus: "[bus]\n" };
pub const SPLIT_RESPONSES: Mode = Mode {
    name: "split, allow_responses",
    bus: "[bus]\nanswers = 'allow_responses'\nresponses = { max = 2, expires = '60s' }\n",
};
pub const ONE_SCOPED: Mode = Mode {
    name: "one account, scoped",
    bus: "[bus]\nisolation = 'one-account'\naccept_one_account = 'any user who may acknowledge a message can \
          delete every stream of this mesh'\n",
};
pub const ONE_RESPONSES: Mode = Mode {
    name: "one account, allow_responses",
    bus: "[bus]\nisolation = 'one-account'\naccept_one_account = 'any user who may acknowledge a message can \
          delete every stream of this mesh'\nanswers = 'allow_responses'\n\
          responses = { max = 2, expires = '60s' }\n",
};

/// One mesh, with who has a user in it.
#[derive(Debug)]
pub struct World {
    pub composition: Composition,
    /// Who had one, and is revoked.
    pub revoked: Option<String>,
    /// Its files, for who has to look into a difference.
    pub files: String,
}

/// Meshes, one after the other, always the same ones for a seed and a mode.
pub struct Worlds {
    mode: Mode,
    runner: TestRunner,
    random: StdRng,
}

/// Which meshes and tries there are.
pub fn seed() -> u64 {
    number("MESH_BED_SEED").unwrap_or(7)
}

/// How many tries in all modes.
pub fn checks() -> usize {
    number("MESH_BED_CHECKS").map_or(20_000, |checks| usize::try_from(checks).unwrap())
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{variable} is {text:?}: {error}")))
}

impl Worlds {
    pub fn new(mode: Mode) -> Self {
        let mut random = StdRng::seed_from_u64(seed());
        let bytes: [u8; 32] = random.random();
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self { mode, runner: TestRunner::new_with_rng(Config::default(), rng), random }
    }

    pub fn random(&mut self) -> &mut StdRng {
        &mut self.random
    }

    /// The next mesh.
    pub fn draw(&mut self) -> World {
        let MeshText { file, manifests, .. } = mesh().new_tree(&mut self.runner).unwrap().current();
        let text = format!("{}\n{}", file.text, self.mode.bus);
        let manifests = manifests.iter().map(|manifest| manifest.text.as_str());
        let named: Vec<(String, &str)> =
            manifests.enumerate().map(|(index, text)| (format!("m{index}.toml"), text)).collect();
        let sources: Vec<Source<'_>> =
            named.iter().map(|(file, text)| Source { file, text }).collect();
        let compose = |more: &More| {
            let mesh = Source { file: "mesh.toml", text: &text };
            Composition::of(mesh, &sources, more).unwrap_or_else(|all| panic!("{all}\n{text}"))
        };
        let mut more = self.more();
        let mut composition = compose(&more);
        let mut revoked = None;
        if self.random.random_bool(0.5) {
            // Anybody but the controller.
            let users = composition.users().iter().map(|user| user.name().to_owned());
            let users: Vec<String> = users.filter(|name| name.contains('.')).collect();
            if !users.is_empty() {
                let name = users[self.random.random_range(0..users.len())].clone();
                more.revoked.insert(name.clone());
                composition = compose(&more);
                revoked = Some(name);
            }
        }
        let texts = named.iter().map(|(file, text)| format!("--- {file}\n{text}"));
        let files = format!("--- mesh.toml\n{text}\n{}\n{more:?}", texts.collect::<String>());
        World { composition, revoked, files }
    }

    /// Tokens of who enrols, and gateways on a backbone.
    fn more(&mut self) -> More {
        let tokens = ["t1", "0123456789abcdef0123456789abcdef"];
        let enrolments: BTreeSet<_> = tokens
            .into_iter()
            .filter(|_| self.random.random_bool(0.5))
            .map(|token| token.parse().unwrap())
            .collect();
        let mut gateways = Vec::new();
        if self.random.random_bool(0.5) {
            let realm = |name: &str| name.parse().unwrap();
            gateways.push(Gateway {
                name: "g1".parse().unwrap(),
                realm: realm("acme.com"),
                kinds: vec![MailboxKind::Legacy],
                peers: vec![(realm("other.org"), MailboxKind::Legacy)],
                group: self.random.random_bool(0.5).then(|| QueueGroup::new("gates").unwrap()),
            });
        }
        More { enrolments, gateways, ..More::default() }
    }
}

/// The example mesh of the program, with a token that is not spent.
pub fn example(mode: Mode) -> World {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/mesh-cli/example");
    let read = |file: &Path| {
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    let text = format!("{}\n{}", read(&folder.join("mesh.toml")), mode.bus);
    let mut manifests = Vec::new();
    for entry in fs::read_dir(folder.join("modules")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        manifests.push((format!("modules/{name}"), read(&path)));
    }
    let sources: Vec<Source<'_>> =
        manifests.iter().map(|(file, text)| Source { file, text }).collect();
    let more = More { enrolments: ["t1".parse().unwrap()].into(), ..More::default() };
    let mesh = Source { file: "mesh.toml", text: &text };
    let composition = Composition::of(mesh, &sources, &more).unwrap();
    assert!(composition.refused().is_empty(), "{:?}", composition.refused());
    World { composition, revoked: None, files: text }
}
