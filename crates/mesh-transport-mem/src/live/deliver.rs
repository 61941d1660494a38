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
    message: Message,
    from: Option<&Arc<Principal>>,
) -> Option<Box<Full>> {
    let mut full: Option<Box<Full>> = None;
    let mut places = places(route);
    // The last one is given the message itself: readers on other processors then have no handle to
    // share with their writer.
    let last = places.next_back()?;
    let mut note = |place: Place, message: Message, fullness: Fullness| {
        if fullness.stuck {
            place.insist(route, message, from, true);
            return;
        }
        let full = full.get_or_insert_with(|| {
            Box::new(Full {
                route: Arc::clone(route),
                message,
                from: from.cloned(),
                places: SmallVec::new(),
            })
        });
        full.places.push((place, fullness));
    };
    for place in places {
        if let Some((message, fullness)) = place.offer(route, message.clone(), from) {
            note(place, message, fullness);
        }
    }
    if let Some((message, fullness)) = last.offer(route, message, from) {
        note(last, message, fullness);
    }
    full
}

/// A message for readers without room. Where nobody [waits](wait) for them to the end, it is dropped
/// and counted there.
#[derive(Debug)]
pub(crate) struct Full {
    route: Arc<Route>,
    message: Message,
    from: Option<Arc<Principal>>,
    places: SmallVec<[(Place, Fullness); 2]>,
}

/// Lets the readers run while they read. What then has no room is dropped and counted there.
pub(crate) async fn wait(mut full: Box<Full>) {
    let Full { route, message, from, places } = &mut *full;
    let from = from.as_ref();
    let mut in_vain = 0;
    for _ in 0..AT_MOST {
        tokio::task::yield_now().await;
        let mut moved = false;
        places.retain(|(place, before)| match place.offer(route, message.clone(), from) {
            None => {
                moved = true;
                false
            }
            Some((_, fullness)) => {
                moved |= fullness.read != before.read;
                *before = fullness;
                true
            }
        });
        if places.is_empty() {
            return;
        }
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
    for (place, _) in places.drain(..) {
        place.insist(route, message.clone(), from, in_vain == IN_VAIN);
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        // The publish was given up. Others may have the message: these are told that they have not.
        for (place, _) in self.places.drain(..) {
            place.insist(&self.route, self.message.clone(), self.from.as_ref(), false);
        }
    }
}

/// The same where nobody can wait.
pub(crate) fn deliver_now(route: &Route, message: &Message, from: Option<&Arc<Principal>>) {
    for place in places(route) {
        place.insist(route, message.clone(), from, false);
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
            Place::Group(group).insist(route, message.clone(), from, false);
            true
        }
        None => false,
    }
}

fn places(route: &Route) -> impl DoubleEndedIterator<Item = Place> + use<> {
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
    /// Without room the message comes back.
    fn offer(
        self,
        route: &Route,
        message: Message,
        from: Option<&Arc<Principal>>,
    ) -> Option<(Message, Fullness)> {
        match self {
            Self::Plain(index) => match route.plain[index].offer(message, from) {
                Offer::Taken | Offer::Gone(_) => None,
                Offer::Full(message, fullness) => Some((message, fullness)),
            },
            Self::Group(index) => offer_group(&route.groups[index], message, from)
                .map(|(_, message, fullness)| (message, fullness)),
        }
    }

    fn insist(self, route: &Route, message: Message, from: Option<&Arc<Principal>>, in_vain: bool) {
        match self {
            Self::Plain(index) => route.plain[index].insist(message, from, in_vain),
            Self::Group(index) => {
                let full = offer_group(&route.groups[index], message, from);
                if let Some((member, message, _)) = full {
                    member.insist(message, from, in_vain);
                }
            }
        }
    }
}

/// Gives a message to the first member that has room, from the one whose turn it is. Without any
/// the answer is one of them, the message, and how they all stand.
fn offer_group<'a>(
    group: &'a Group,
    mut message: Message,
    from: Option<&Arc<Principal>>,
) -> Option<(&'a Arc<Listener>, Message, Fullness)> {
    let mut full: Option<(&Arc<Listener>, Fullness)> = None;
    for member in group.in_turn() {
        match member.offer(message, from) {
            Offer::Taken => return None,
            Offer::Gone(back) => message = back,
            Offer::Full(back, Fullness { read, stuck }) => {
                message = back;
                match &mut full {
                    None => full = Some((member, Fullness { read, stuck })),
                    Some((_, all)) => {
                        all.read += read;
                        all.stuck &= stuck;
                    }
                }
            }
        }
    }
    full.map(|(member, fullness)| (member, message, fullness))
}
