use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Appended, Capabilities, Clock, ErrorKind, Operation, TransportError};
use mesh_core::subject::Subject;
use mesh_core::time::Timestamp;
use mesh_core::topology::{ConsumerRef, StreamName};
use parking_lot::{Mutex, RwLock};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::runtime::{self, Handle};

use crate::access::Access;
use crate::link::{Link, LinkId, Who};
use crate::live::{
    Asked, Full, Hub, Left, Listener, Offered, deliver_now, deliver_to_group, offer,
};
use crate::pending::Pending;
use crate::space::Space;
use crate::statistics::Statistics;
use crate::status::Over;
use crate::stream::{Append, Effects, Seat, SeatId, Stream};
use crate::timer::Timer;

/// What all three brokers are: who listens, who asks, what is kept, and who is connected. What a
/// broker does not declare it is never asked for.
#[derive(Debug)]
pub(crate) struct Broker {
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) epoch: Timestamp,
    pub(crate) hub: Hub,
    pub(crate) pending: Pending,
    pub(crate) streams: RwLock<Vec<Arc<Stream>>>,
    pub(crate) timer: Timer,
    me: Weak<Self>,
    random: Mutex<StdRng>,
    links: Mutex<BTreeMap<LinkId, Weak<Link>>>,
    last_id: AtomicU64,
}

/// How a broker is made.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) epoch: Option<Timestamp>,
    pub(crate) seed: Option<u64>,
}

/// Who sends a message, if anybody in particular, and from where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender<'a> {
    pub(crate) who: Option<&'a Arc<Principal>>,
    pub(crate) space: Space,
}

/// What became of a publish.
#[derive(Debug)]
pub(crate) struct Published {
    /// Whether anybody has it.
    pub(crate) received: bool,
    /// Those whose buffers have no room.
    pub(crate) full: Option<Box<Full>>,
}

impl Broker {
    pub(crate) fn new(settings: Settings) -> Arc<Self> {
        let Settings { capabilities, clock, epoch, seed } = settings;
        let random = match seed {
            Some(seed) => StdRng::seed_from_u64(seed),
            None => StdRng::from_os_rng(),
        };
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            capabilities,
            epoch: epoch.unwrap_or_else(|| clock.now()),
            timer: Timer::new(Arc::clone(&clock)),
            clock,
            hub: Hub::new(seed.unwrap_or_else(rand::random)),
            pending: Pending::default(),
            streams: RwLock::default(),
            random: Mutex::new(random),
            links: Mutex::default(),
            last_id: AtomicU64::new(0),
        })
    }

    pub(crate) fn connect(self: &Arc<Self>, who: Who, access: Access) -> Arc<Link> {
        let id = LinkId(self.next_id());
        let link = Arc::new(Link::new(id, who, access, Arc::clone(self)));
        self.links.lock().insert(id, Arc::downgrade(&link));
        link
    }

    pub(crate) fn forget_link(&self, id: LinkId) {
        self.links.lock().remove(&id);
    }

    /// Its connections, of those that `which` says.
    fn links(&self, which: impl Fn(&Link) -> bool) -> Vec<Arc<Link>> {
        let links: Vec<_> = self.links.lock().values().cloned().collect();
        links.iter().filter_map(Weak::upgrade).filter(|link| which(link)).collect()
    }

    /// Drops these connections; the answer is how many.
    pub(crate) fn sever(&self, which: impl Fn(&Link) -> bool) -> usize {
        let links = self.links(|link| link.status.over().is_none() && which(link));
        for link in &links {
            link.end(Over::Severed);
        }
        links.len()
    }

    /// Replaces the permissions of those connections for which there are some; the answer is how many.
    /// As on a server that reloads, nobody owes an answer any more.
    pub(crate) fn set_permissions(&self, of: impl Fn(&Link) -> Option<Permissions>) -> usize {
        let mut count = 0;
        for link in self.links(|_| true) {
            link.access.forget_replies();
            if let Some(permissions) = of(&link) {
                link.access.replace(permissions);
                link.apply_access();
                count += 1;
            }
        }
        self.hub.outdate();
        count
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn seat_id(&self) -> SeatId {
        SeatId(self.next_id())
    }

    pub(crate) fn random(&self) -> u128 {
        self.random.lock().random()
    }

    pub(crate) fn stream(&self, name: StreamName) -> Option<Arc<Stream>> {
        let streams = self.streams.read();
        streams.iter().find(|stream| stream.name == name).cloned()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let links = self.links.lock();
        Statistics {
            connections: links.len(),
            subscriptions: self.hub.listeners(),
            pending_requests: self.pending.len(),
            late_answers: self.pending.late(),
            lost_answers: self.pending.lost(),
            timers: self.timer.len(),
        }
    }

    /// What a plain publish does: a stream that takes the subject and has room keeps the message, as on
    /// a real server, and who listens hears it.
    pub(crate) fn publish(
        &self,
        from: Sender<'_>,
        message: Message,
    ) -> Result<Published, TransportError> {
        let subject = message.subject();
        let route = self.hub.route(from.space, subject);
        let answered =
            is_inbox(subject) && self.pending.answer(from.space, subject, Ok(message.clone()));
        let Some(stream) = &route.stream else {
            let published = self.reach(offer(&route, message, from.who), from);
            return Ok(Published { received: answered || published.received, ..published });
        };
        let kept = match self.keep(stream, &message, Append::plain()) {
            Err(error) if error.kind() == ErrorKind::Invalid => return Err(error),
            Err(error) => {
                // Its publisher asked for it to be heard, not for it to be kept.
                tracing::warn!(%error, "a live message is not kept");
                None
            }
            Ok(appended) => Some(appended),
        };
        let reply = message.reply().cloned();
        let published = self.reach(offer(&route, message, from.who), from);
        if let Some((reply, appended)) = reply.zip(kept) {
            self.confirm(from.space.answered(), &reply, &appended);
        }
        Ok(Published { received: true, ..published })
    }

    /// Who has a message that was offered. A group whose members all left meanwhile is looked for
    /// anew: others may have come.
    pub(crate) fn reach(&self, offered: Offered, from: Sender<'_>) -> Published {
        let Offered { mut taken, full, left } = offered;
        for left in left {
            taken |= self.to_group(left, from);
        }
        Published { received: taken, full }
    }

    /// Gives a message to one member of a group; the answer is whether there is any.
    fn to_group(&self, mut left: Left, from: Sender<'_>) -> bool {
        loop {
            let route = self.hub.route(from.space, left.message.subject());
            match deliver_to_group(&route, left, from.who) {
                None => return false,
                Some(Ok(())) => return true,
                Some(Err(back)) => left = back,
            }
        }
    }

    /// The server confirms what a stream keeps to any reply address, whoever may publish there: one in the
    /// account of who published, from which it does not pass on into the other.
    fn confirm(&self, space: Space, reply: &Subject, appended: &Appended) {
        let stream = appended.stream;
        let sequence = appended.sequence.unwrap_or_default();
        let body = format!(r#"{{"stream":"{stream}","seq":{sequence}}}"#);
        let confirmation = Message::new(reply.clone(), body);
        let route = self.hub.route(space, reply);
        if is_inbox(reply) {
            self.pending.answer(space, reply, Ok(confirmation.clone()));
        }
        if let Some(stream) = &route.stream
            && let Err(error) = self.keep(stream, &confirmation, Append::plain())
        {
            tracing::debug!(%error, "a confirmation was refused");
            return;
        }
        deliver_now(&route, &confirmation, None);
    }

    /// Stores a message in `stream`, and wakes who waits for it.
    pub(crate) fn keep(
        &self,
        stream: &Arc<Stream>,
        message: &Message,
        append: Append<'_>,
    ) -> Result<Appended, TransportError> {
        let (appended, effects) =
            stream.append(message, append, self.clock.now(), self.clock.monotonic())?;
        self.run(effects);
        Ok(appended)
    }

    /// Gives the calls that a server has not read to another member of its group, or tells who
    /// asked that nobody is there; the answer is how many there were.
    pub(crate) fn hand_on(&self, listener: &Listener) -> u64 {
        let unread = listener.unread_calls();
        let mut count = 0;
        for Asked { message, caller, .. } in unread {
            count += 1;
            let nobody = TransportError::new(ErrorKind::NoResponders, Operation::Request)
                .about(message.subject());
            let reply = message.reply().cloned();
            let group = listener.group.clone();
            // Who calls is in the account of who serves.
            let from = Sender { who: caller.as_ref(), space: Space::of(listener.account) };
            let taken = group.is_some_and(|group| self.to_group(Left { group, message }, from));
            if let (false, Some(reply)) = (taken, reply) {
                self.pending.answer(Space::Whole, &reply, Err(nobody));
            }
        }
        count
    }

    /// Takes a reader from its consumer; the answer is how many deliveries went back.
    pub(crate) fn leave(&self, stream: &Arc<Stream>, seat: &Seat) -> u64 {
        let (released, effects) = stream.leave(seat);
        self.run(effects);
        released
    }

    /// Looks what is due at a consumer.
    pub(crate) fn look(&self, consumer: &ConsumerRef) {
        if let Some(stream) = self.stream(consumer.stream) {
            self.run(stream.look(&consumer.consumer, self.clock.monotonic()));
        }
    }

    /// Sees that what is due is looked at while only this runtime runs; the answer is which it is.
    pub(crate) fn wait_here(&self, known: Option<runtime::Id>) -> Option<runtime::Id> {
        let runtime = Handle::try_current().ok()?;
        let id = runtime.id();
        if known != Some(id) {
            self.timer.wait_on(&runtime, &self.me);
        }
        Some(id)
    }

    /// Does what a change of a stream asked for. The stream's lock must be free.
    pub(crate) fn run(&self, effects: Effects) {
        let Effects { wake, look_at, burials } = effects;
        for (due, consumer) in look_at {
            self.timer.add(due, consumer, &self.me);
        }
        for burial in burials {
            self.bury(burial);
        }
        for waker in wake {
            waker.wake();
        }
    }
}

fn is_inbox(subject: &Subject) -> bool {
    subject.as_str().starts_with("_INBOX.")
}
