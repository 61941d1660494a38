//! From the files of a mesh of 1,000 and of 10,000 modules to a nats-server's configuration.
//!
//! The baseline is the smaller mesh ten times over, so a ratio of 1 is work in proportion to the modules.
//! Both read all files. Hashes are not made here: they are kept from one composition to the next.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use mesh_benches::Comparison;
use mesh_control::compose::{Composition, More, Place, Source, Verifier};

type Error = Box<dyn std::error::Error>;

const HASH: &str = "$2b$04$EgcJGzFHQy0BvbkZVsYpHOFH8JqRTPu3ZGcJk7nRYG8/wqCYxyGsi";

/// The files of a mesh.
struct Files {
    mesh: String,
    manifests: Vec<(String, String)>,
}

impl Files {
    /// Each module emits two events, consumes one of another's and one of everybody's, calls two tools and
    /// serves two, and requires what one in a hundred provides; a person in a hundred calls tools of it.
    fn of(count: usize) -> Self {
        let nodes = (count / 100).max(1);
        let mut mesh = String::from("nodes = [\n");
        for node in 0..nodes {
            mesh += &format!("{{ name = 'n{node}' }},\n");
        }
        mesh += "]\nassignments = [\n";
        let mut manifests = Vec::new();
        for number in 0..count {
            let (other, third) = ((number + 1) % count, (number * 7 + 3) % count);
            mesh += &format!(
                "{{ module = 'm{number}', manifest = 'm/{number}.toml', nodes = ['n{}'] }},\n",
                number % nodes
            );
            let provides = if number % 100 == 0 {
                format!("provides = [{{ name = 'p{number}', credential = ['url'] }}]\n")
            } else {
                format!("requires = [{{ provision = 'p{}' }}]\n", number / 100 * 100)
            };
            let mut calls = vec![format!("'m{other}.get'")];
            if third != number && third != other {
                calls.push(format!("'m{third}.put'"));
            }
            let text = format!(
                "name = 'm{number}'\nversion = '1.0.0'\nemits = ['made', 'order.lost']\n\
                 consumes = ['m{other}.made', '*.order.lost']\ncalls = [{}]\n{provides}\
                 [[tools]]\nname = 'get'\ndescription = 'Gets it.'\n\
                 [[tools]]\nname = 'put'\ndescription = 'Puts it.'\ntimeout = '10s'\n",
                calls.join(", ")
            );
            manifests.push((format!("m/{number}.toml"), text));
        }
        mesh += "]\npeople = [\n";
        for person in 0..nodes {
            mesh += &format!("{{ name = 'p{person}', tools = ['m{person}.get'] }},\n");
        }
        mesh += "]\n";
        Self { mesh, manifests }
    }

    fn composed(&self) -> Result<Composition, Error> {
        let manifests: Vec<Source<'_>> =
            self.manifests.iter().map(|(file, text)| Source { file, text }).collect();
        let mesh = Source { file: "mesh.toml", text: &self.mesh };
        Ok(Composition::of(mesh, &manifests, &More::default())?)
    }
}

fn text(composition: &Composition, verifiers: &BTreeMap<String, Verifier>) -> usize {
    let text = composition.nats(verifiers, &Place::default());
    text.map_or(0, |text| text.len())
}

fn main() -> Result<(), Error> {
    let (small, large) = (Files::of(1_000), Files::of(10_000));
    let verifier = Verifier::bcrypt(HASH)?;
    let compositions = [small.composed()?, large.composed()?];
    let verifiers = [0, 1].map(|at: usize| -> BTreeMap<String, Verifier> {
        let users = compositions[at].users().iter();
        users.map(|user| (user.name().to_owned(), verifier.clone())).collect()
    });
    let read = Comparison::new("compose 10,000 modules, of their files", 10_000).rounds(5);
    let report = read.run(
        || (0..10).map(|_| small.composed().map_or(0, |c| c.users().len())).sum::<usize>(),
        || large.composed().map_or(0, |c| c.users().len()),
    );
    println!("{report}");
    let write = Comparison::new("compose 10,000 modules, the server's file", 10_000).rounds(5);
    let report = write.run(
        || (0..10).map(|_| text(&compositions[0], &verifiers[0])).sum::<usize>(),
        || text(&compositions[1], &verifiers[1]),
    );
    println!("{report}");
    let began = Instant::now();
    let composed = large.composed()?;
    let length = black_box(text(&composed, &verifiers[1]));
    let (took, users) = (began.elapsed(), composed.users().len());
    println!("compose 10,000 modules, all of it: {took:?}; {users} users, {length} bytes");
    assert!(composed.refused().is_empty() && length > 0, "nothing is refused");
    Ok(())
}
