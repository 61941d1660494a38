//! People by their names.

use mesh_control::secrets::{KeyError, Recipient};
use mesh_core::manifest::{MeshFile, Person};
use mesh_core::name::{NameError, PersonName, UserName};

use super::bus::Reached;
use crate::shell::Failure;

/// The person of that name.
pub(super) fn find<'f>(file: &'f MeshFile, name: &PersonName) -> Result<&'f Person, Failure> {
    if let Some(person) = file.people.iter().find(|person| person.name == *name) {
        return Ok(person);
    }
    let near = |known: &&Person| strsim::damerau_levenshtein(known.name.as_str(), name.as_str());
    let near = file.people.iter().min_by_key(near).filter(|person| near(person) <= 2);
    let hint = match near {
        Some(person) => format!("did you mean {}?", person.name),
        None => format!("add it to the mesh file: people = [{{ name = \"{name}\", tools = […] }}]"),
    };
    Err(Failure::new(format!("the mesh has no person {name}"), hint).at(file.file()))
}

/// A person's name on the command line: as the mesh file has it, not as the user that is composed of it.
pub(super) fn named(text: &str) -> Result<PersonName, String> {
    text.parse().map_err(|error: NameError| match text.strip_prefix("person.") {
        Some(name) if name.parse::<PersonName>().is_ok() => {
            format!("write {name}, as the mesh file does")
        }
        _ => error.to_string(),
    })
}

/// The person's user, as it is composed.
pub(super) fn user(name: &PersonName) -> Result<UserName, Failure> {
    // Two labels, each of which was checked.
    let user = UserName::new(format!("person.{name}"));
    user.map_err(|error| Failure::new(error.to_string(), "this is a mistake of ours"))
}

/// How far a change has come, for people.
pub(crate) fn told(reached: Reached) -> &'static str {
    match reached {
        Reached::Live => "the server runs with it",
        Reached::NoBus => "no server runs from the bus's folder: it counts when one does",
        Reached::NotWaited => {
            "nobody waited for the server: `mesh bus status` says when it runs with it"
        }
    }
}

/// The keys that something is sealed to. Read here and not by clap, which repeats what it can't read: a secret
/// key, by mistake.
pub(crate) fn recipients(texts: &[String]) -> Result<Vec<Recipient>, Failure> {
    let read = |text: &String| {
        text.parse().map_err(|error: KeyError| {
            let hint = "`mesh operator keygen` prints one; so does `age-keygen`";
            Failure::new(error.to_string(), hint).at("--recipient")
        })
    };
    texts.iter().map(read).collect()
}
