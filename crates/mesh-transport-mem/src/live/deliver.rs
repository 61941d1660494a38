use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::QueueGroup;
use smallvec::SmallVec;

use super::listener::Listener;
use super::queue::Offer;
use super::route::{Group, Route};

/// Gives a message to whoever the route names. Where a reader's buffer is full its writer lets it
/// run once; what then has no room is dropped and counted there, at the cost of nobody else.
pub(crate) async fn deliver(route: &Route, message: &Message, from: Option<&Arc<Principal>>) {
    let mut full: SmallVec<[Place<'_>; 2]> = SmallVec::new();
    for place in places(route) {
        match place.offer(message, from) {
            Outcome::Done => {}
            Outcome::Full { in_vain: false } => full.push(place),
            Outcome::Full { in_vain: true } => place.insist(message, from),
        }
    }
    if full.is_empty() {
        return;
    }
    tokio::task::yield_now().await;
    for place in full {
        place.insist(message, from);
    }
}

/// The same where nobody can wait.
pub(crate) fn deliver_now(route: &Route, message: &Message, from: Option<&Arc<Principal>>) {
    for place in places(route) {
        place.insist(message, from);
    }
}

/// Gives a message to one member of a group; the answer is whether there is any.
pub(crate) fn deliver_to_group(
    route: &Route,
    name: &QueueGroup,
    message: &Message,
    from: Option<&Arc<Principal>>,
) -> bool {
    match route.groups.iter().find(|group| group.name == *name) {
        Some(group) => {
            Place::Group(group).insist(message, from);
            true
        }
        None => false,
    }
}

fn places(route: &Route) -> impl Iterator<Item = Place<'_>> {
    let plain = route.plain.iter().map(Place::Plain);
    plain.chain(route.groups.iter().map(Place::Group))
}

/// One receiver of a message.
enum Place<'a> {
    Plain(&'a Arc<Listener>),
    Group(&'a Group),
}

enum Outcome {
    Done,
    Full { in_vain: bool },
}

impl Place<'_> {
    fn offer(&self, message: &Message, from: Option<&Arc<Principal>>) -> Outcome {
        match self {
            Self::Plain(listener) => match listener.offer(message, from) {
                Offer::Taken | Offer::Gone => Outcome::Done,
                Offer::Full { in_vain } => Outcome::Full { in_vain },
            },
            Self::Group(group) => {
                let mut outcome = Outcome::Done;
                for member in group.in_turn() {
                    match (member.offer(message, from), &outcome) {
                        (Offer::Taken, _) => return Outcome::Done,
                        (Offer::Gone, _) | (_, Outcome::Full { in_vain: false }) => {}
                        (Offer::Full { in_vain }, _) => outcome = Outcome::Full { in_vain },
                    }
                }
                outcome
            }
        }
    }

    fn insist(&self, message: &Message, from: Option<&Arc<Principal>>) {
        match self {
            Self::Plain(listener) => listener.insist(message, from),
            Self::Group(group) => {
                let mut full = None;
                for member in group.in_turn() {
                    match member.offer(message, from) {
                        Offer::Taken => return,
                        Offer::Full { .. } => full = full.or(Some(member)),
                        Offer::Gone => {}
                    }
                }
                if let Some(member) = full {
                    member.insist(message, from);
                }
            }
        }
    }
}
