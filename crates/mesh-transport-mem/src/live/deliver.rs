use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::QueueGroup;
use smallvec::SmallVec;

use super::listener::Listener;
use super::queue::{Fullness, Offer};
use super::route::{Group, Route};

/// How often a writer lets a reader run that reads nothing meanwhile.
const IN_VAIN: u32 = 256;
/// How often it lets one run that does read, and never has room.
const AT_MOST: u32 = 4096;

/// Gives a message to whoever the route names. Where a buffer is full the reader is left to
/// [`wait`] for.
#[must_use]
pub(crate) fn offer(
    route: &Arc<Route>,
    message: &Message,
    from: Option<&Arc<Principal>>,
) -> Option<Box<Full>> {
    let mut full = SmallVec::new();
    for place in places(route) {
        match place.offer(route, message, from) {
            None => {}
            Some(Fullness { stuck: true, .. }) => place.insist(route, message, from, true),
            Some(fullness) => full.push((place, fullness)),
        }
    }
    (!full.is_empty()).then(|| {
        Box::new(Full {
            route: Arc::clone(route),
            places: full,
        })
    })
}

/// Readers without room for a message.
#[derive(Debug)]
pub(crate) struct Full {
    route: Arc<Route>,
    places: SmallVec<[(Place, Fullness); 2]>,
}

/// Lets the readers run while they read. What then has no room is dropped and counted there.
pub(crate) async fn wait(mut full: Box<Full>, message: &Message, from: Option<&Arc<Principal>>) {
    let Full { route, places } = &mut *full;
    let mut in_vain = 0;
    for _ in 0..AT_MOST {
        if places.is_empty() {
            return;
        }
        tokio::task::yield_now().await;
        let mut moved = false;
        places.retain(|(place, before)| match place.offer(route, message, from) {
            None => {
                moved = true;
                false
            }
            Some(fullness) => {
                moved |= fullness.read != before.read;
                *before = fullness;
                true
            }
        });
        if moved {
            in_vain = 0;
        } else {
            in_vain += 1;
            // The reader's thread may be one that the machine is not running.
            std::thread::yield_now();
        }
        if in_vain == IN_VAIN {
            break;
        }
    }
    for (place, _) in places {
        place.insist(route, message, from, in_vain == IN_VAIN);
    }
}

/// The same where nobody can wait.
pub(crate) fn deliver_now(route: &Route, message: &Message, from: Option<&Arc<Principal>>) {
    for place in places(route) {
        place.insist(route, message, from, false);
    }
}

/// Gives a message to one member of a group; the answer is whether there is any.
pub(crate) fn deliver_to_group(
    route: &Route,
    name: &QueueGroup,
    message: &Message,
    from: Option<&Arc<Principal>>,
) -> bool {
    match route.groups.iter().position(|group| group.name == *name) {
        Some(group) => {
            Place::Group(group).insist(route, message, from, false);
            true
        }
        None => false,
    }
}

fn places(route: &Route) -> impl Iterator<Item = Place> {
    let plain = (0..route.plain.len()).map(Place::Plain);
    plain.chain((0..route.groups.len()).map(Place::Group))
}

/// One receiver of a message, by its index in the route.
#[derive(Debug, Clone, Copy)]
enum Place {
    Plain(usize),
    Group(usize),
}

impl Place {
    fn offer(
        self,
        route: &Route,
        message: &Message,
        from: Option<&Arc<Principal>>,
    ) -> Option<Fullness> {
        match self {
            Self::Plain(index) => match route.plain[index].offer(message, from) {
                Offer::Taken | Offer::Gone => None,
                Offer::Full(fullness) => Some(fullness),
            },
            Self::Group(index) => offer_group(&route.groups[index], message, from)
                .err()
                .map(|(_, fullness)| fullness),
        }
    }

    fn insist(
        self,
        route: &Route,
        message: &Message,
        from: Option<&Arc<Principal>>,
        in_vain: bool,
    ) {
        match self {
            Self::Plain(index) => route.plain[index].insist(message, from, in_vain),
            Self::Group(index) => {
                if let Err((member, _)) = offer_group(&route.groups[index], message, from) {
                    member.insist(message, from, in_vain);
                }
            }
        }
    }
}

/// Gives a message to the first member that has room, from the one whose turn it is. The error is
/// one without room, and how they all stand.
fn offer_group<'a>(
    group: &'a Group,
    message: &Message,
    from: Option<&Arc<Principal>>,
) -> Result<(), (&'a Arc<Listener>, Fullness)> {
    let mut full: Option<(&Arc<Listener>, Fullness)> = None;
    for member in group.in_turn() {
        match member.offer(message, from) {
            Offer::Taken => return Ok(()),
            Offer::Gone => {}
            Offer::Full(Fullness { read, stuck }) => match &mut full {
                None => full = Some((member, Fullness { read, stuck })),
                Some((_, all)) => {
                    all.read += read;
                    all.stuck &= stuck;
                }
            },
        }
    }
    full.map_or(Ok(()), Err)
}
