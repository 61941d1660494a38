//! Chains of events: who says what because of which event, by the files and by what was handled.

use mesh_core::event::EventId;
use mesh_core::identity::Instance;
use mesh_core::manifest::Mesh;
use mesh_core::name::{EventName, ModuleName};
use mesh_sdk::ReceivedEvent;

use crate::demo::journal::Handling;

/// How many events a chain has, one because of the other.
const LONGEST: usize = 3;
/// How many consumers of one event say something because of it: the first ones, by node and module.
const SPEAKERS: usize = 2;

/// Somebody who handled an event, and what they said because of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Link {
    who: String,
    said: Vec<(String, Vec<Link>)>,
}

/// An event's name with its module's.
pub(crate) fn named(module: &ModuleName, event: &EventName) -> String {
    format!("{module}.{event}")
}

/// What `at` says because of an event that ends this chain: the first of its own that somebody consumes
/// and that is not in the chain already.
pub(crate) fn next(
    mesh: &Mesh,
    at: &Instance,
    event: &ReceivedEvent,
    chain: &[String],
) -> Option<EventName> {
    said_by(mesh, at, &event.module, &event.name, chain)
}

fn said_by(
    mesh: &Mesh,
    at: &Instance,
    module: &ModuleName,
    event: &EventName,
    chain: &[String],
) -> Option<EventName> {
    if chain.len() >= LONGEST || !speakers(mesh, module, event).contains(at) {
        return None;
    }
    let mut emits = mesh.module(&at.module)?.manifest.emits.iter();
    let fits = |event: &&EventName| {
        let consumed = mesh.consumers_of(&at.module, event).next().is_some();
        consumed && !chain.contains(&named(&at.module, event))
    };
    emits.find(fits).cloned()
}

fn speakers(mesh: &Mesh, module: &ModuleName, event: &EventName) -> Vec<Instance> {
    let mut all: Vec<Instance> = mesh.consumers_of(module, event).collect();
    all.sort();
    all.truncate(SPEAKERS);
    all
}

/// What becomes of an event by the files.
pub(super) fn expected(
    mesh: &Mesh,
    module: &ModuleName,
    event: &EventName,
    chain: &[String],
) -> Vec<Link> {
    let links = mesh.consumers_of(module, event).map(|at| {
        let said = said_by(mesh, &at, module, event, chain).map(|next| {
            let chain = [chain, &[named(&at.module, &next)]].concat();
            let links = expected(mesh, &at.module, &next, &chain);
            (next.to_string(), links)
        });
        Link { who: at.to_string(), said: said.into_iter().collect() }
    });
    sorted(links.collect())
}

/// What became of an event by what was handled, and by what each event names as its cause.
pub(super) fn found(handled: &[Handling], id: &EventId) -> Vec<Link> {
    let links = handled.iter().filter(|run| run.id == *id).map(|run| {
        let mut said: Vec<&Handling> = Vec::new();
        for caused in handled.iter().filter(|of| of.cause.as_ref() == Some(id)) {
            if caused.from == run.at && said.iter().all(|known| known.id != caused.id) {
                said.push(caused);
            }
        }
        let said = said.iter().map(|of| (of.event.to_string(), found(handled, &of.id)));
        Link { who: run.at.to_string(), said: said.collect() }
    });
    sorted(links.collect())
}

fn sorted(mut links: Vec<Link>) -> Vec<Link> {
    links.sort();
    links
}

/// How many have a part in it.
pub(super) fn size(links: &[Link]) -> usize {
    let below = links.iter().flat_map(|link| &link.said).map(|(_, links)| size(links));
    links.len() + below.sum::<usize>()
}

/// Whether somebody says something.
pub(super) fn goes_on(links: &[Link]) -> bool {
    links.iter().any(|link| !link.said.is_empty())
}

/// The tree, a line for each who has a part in it.
pub(super) fn drawn(links: &[Link]) -> Vec<String> {
    let mut lines = Vec::new();
    draw(links, "", &mut lines);
    lines
}

fn draw(links: &[Link], before: &str, lines: &mut Vec<String>) {
    for (index, link) in links.iter().enumerate() {
        let (turn, under) = match index + 1 == links.len() {
            true => ("└─ ", "   "),
            false => ("├─ ", "│  "),
        };
        let said: Vec<&str> = link.said.iter().map(|(event, _)| event.as_str()).collect();
        let says =
            if said.is_empty() { String::new() } else { format!(" publishes {}", said.join(", ")) };
        lines.push(format!("{before}{turn}{}{says}", link.who));
        for (_, links) in &link.said {
            draw(links, &format!("{before}{under}"), lines);
        }
    }
}
