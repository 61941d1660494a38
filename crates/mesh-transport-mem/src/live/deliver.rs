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

/// What became of an offer.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Offered {
    /// Whether somebody has the message, or has been told that it was lost.
    pub(crate) taken: bool,
    /// Those to [`wait`] for.
    pub(crate) full: Option<Box<Full>>,
    /// For groups whose members have all left since the route was worked out.
    pub(crate) left: Vec<Left>,
}

/// A message for a group that is to be looked for anew.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) group: QueueGroup,
    pub(crate) message: Message,
}

/// Gives a message to whoever the route names. Where a buffer is full the reader is left to
/// [`wait`] for.
pub(crate) fn offer(
    route: &Arc<Route>,
    message: Message,
    from: Option<&Arc<Principal>>,
) -> Offered {
    let mut offered = Offered::default();
    let mut places = places(route);
    // The last one is given the message itself: readers on other processors then have no handle to
    // share with their writer.
    let Some(last) = places.next_back() else {
        return offered;
    };
    for place in places {
        let offer = place.offer(route, message.clone(), from);
        offered.note(route, place, offer, from);
    }
    let offer = last.offer(route, message, from);
    offered.note(route, last, offer, from);
    offered
}

impl Offered {
    fn note(
        &mut self,
        route: &Arc<Route>,
        place: Place,
        offer: Offer<Message>,
        from: Option<&Arc<Principal>>,
    ) {
        match offer {
            Offer::Taken => self.taken = true,
            Offer::Gone(message) => self.left.extend(place.left(route, message)),
            Offer::Full(message, fullness) if fullness.stuck => {
                place.insist(route, message, from, true);
                self.taken = true;
            }
            Offer::Full(message, fullness) => {
                let full = self.full.get_or_insert_with(|| {
                    Box::new(Full {
                        route: Arc::clone(route),
                        message,
                        from: from.cloned(),
                        places: SmallVec::new(),
                    })
                });
                full.places.push((place, fullness));
            }
        }
    }
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
pub(crate) async fn wait(mut full: Box<Full>) -> Offered {
    let mut offered = Offered::default();
    let Full { route, message, from, places } = &mut *full;
    let from = from.as_ref();
    let mut in_vain = 0;
    for _ in 0..AT_MOST {
        tokio::task::yield_now().await;
        let mut moved = false;
        places.retain(|(place, before)| match place.offer(route, message.clone(), from) {
            Offer::Taken => {
                offered.taken = true;
                moved = true;
                false
            }
            Offer::Gone(message) => {
                offered.left.extend(place.left(route, message));
                moved = true;
                false
            }
            Offer::Full(_, fullness) => {
                moved |= fullness.read != before.read;
                *before = fullness;
                true
            }
        });
        if places.is_empty() {
            return offered;
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
        offered.taken = true;
    }
    offered
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

/// Gives a message to one member of a group. `None`: there is no such group. A message that comes
/// back finds that its members have left.
pub(crate) fn deliver_to_group(
    route: &Route,
    left: Left,
    from: Option<&Arc<Principal>>,
) -> Option<Result<(), Left>> {
    let Left { group: name, message } = left;
    let group = route.groups.iter().find(|group| group.name == name)?;
    match offer_group(group, message, from) {
        GroupOffer::Taken => {}
        GroupOffer::Gone(message) => return Some(Err(Left { group: name, message })),
        GroupOffer::Full(member, message, _) => member.insist(message, from, false),
    }
    Some(Ok(()))
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
    fn offer(
        self,
        route: &Route,
        message: Message,
        from: Option<&Arc<Principal>>,
    ) -> Offer<Message> {
        match self {
            Self::Plain(index) => route.plain[index].offer(message, from),
            Self::Group(index) => match offer_group(&route.groups[index], message, from) {
                GroupOffer::Taken => Offer::Taken,
                GroupOffer::Gone(message) => Offer::Gone(message),
                GroupOffer::Full(_, message, fullness) => Offer::Full(message, fullness),
            },
        }
    }

    /// A group may have new members; a plain reader that left is not replaced.
    fn left(self, route: &Route, message: Message) -> Option<Left> {
        match self {
            Self::Plain(_) => None,
            Self::Group(index) => Some(Left { group: route.groups[index].name.clone(), message }),
        }
    }

    fn insist(self, route: &Route, message: Message, from: Option<&Arc<Principal>>, in_vain: bool) {
        match self {
            Self::Plain(index) => route.plain[index].insist(message, from, in_vain),
            Self::Group(index) => {
                let offer = offer_group(&route.groups[index], message, from);
                if let GroupOffer::Full(member, message, _) = offer {
                    member.insist(message, from, in_vain);
                }
            }
        }
    }
}

/// What became of an offer to a group.
enum GroupOffer<'a> {
    Taken,
    /// No member has room: one of them, and how they all stand.
    Full(&'a Arc<Listener>, Message, Fullness),
    /// All members have left.
    Gone(Message),
}

/// Gives a message to the first member that has room, from the one whose turn it is.
fn offer_group<'a>(
    group: &'a Group,
    mut message: Message,
    from: Option<&Arc<Principal>>,
) -> GroupOffer<'a> {
    let mut full: Option<(&Arc<Listener>, Fullness)> = None;
    for member in group.in_turn() {
        match member.offer(message, from) {
            Offer::Taken => return GroupOffer::Taken,
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
    match full {
        Some((member, fullness)) => GroupOffer::Full(member, message, fullness),
        None => GroupOffer::Gone(message),
    }
}
