use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mesh_core::mx::{AnswerRoute, MailboxKind, ReplyId};
use mesh_core::name::RealmName;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::{Notify, oneshot};

/// The requests that components work on, and how many each realm has under way. Bounded: who takes a
/// place when there is none is refused.
#[derive(Debug)]
pub(super) struct Pending {
    table: Arc<Mutex<Table>>,
    most: usize,
    most_per_realm: usize,
    /// Told when the last place is given back.
    emptied: Arc<Notify>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) route: AnswerRoute,
    pub(super) mailbox: MailboxKind,
    pub(super) slot: Slot,
    /// When it came in, by the measured clock.
    pub(super) since: Duration,
    /// When its time is over, by the measured clock.
    pub(super) deadline: Duration,
    /// Dropped with the request: who listens for this one reply alone stops.
    pub(super) listener: Option<oneshot::Sender<()>>,
}

#[derive(Debug, Default)]
struct Table {
    requests: FxHashMap<u128, Request>,
    deadlines: BTreeSet<(Duration, u128)>,
    /// Places taken, in all and of each realm that has any.
    taken: usize,
    realms: FxHashMap<RealmName, usize>,
    ended: Ended,
}

/// The requests that ended last, to tell a late reply from one to another gateway of the realm, which
/// hears the same topics. As many as [`ENDED`].
#[derive(Debug, Default)]
struct Ended {
    order: VecDeque<u128>,
    ids: FxHashSet<u128>,
}

const ENDED: usize = 4_096;

/// A request's place in the limits, from its arrival until its answer has been sent.
#[derive(Debug)]
pub(super) struct Slot {
    table: Arc<Mutex<Table>>,
    emptied: Arc<Notify>,
    realm: RealmName,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    Realm,
    All,
}

/// What a reply found.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "taken apart at once")]
pub(super) enum Found {
    Request(Request),
    /// Its request has ended.
    Late,
    /// No request of this gateway, or one that ended long ago.
    Unknown,
}

impl Pending {
    pub(super) fn new(most: usize, most_per_realm: usize) -> Self {
        Self { table: Arc::default(), most, most_per_realm, emptied: Arc::default() }
    }

    pub(super) fn take(&self, realm: &RealmName) -> Result<Slot, Full> {
        let mut table = self.table.lock();
        if table.taken >= self.most {
            return Err(Full::All);
        }
        match table.realms.get_mut(realm) {
            Some(taken) if *taken >= self.most_per_realm => return Err(Full::Realm),
            Some(taken) => *taken += 1,
            None => {
                table.realms.insert(realm.clone(), 1);
            }
        }
        table.taken += 1;
        let (table, emptied) = (Arc::clone(&self.table), Arc::clone(&self.emptied));
        Ok(Slot { table, emptied, realm: realm.clone() })
    }

    pub(super) fn insert(&self, id: ReplyId, request: Request) {
        let (id, deadline) = (number(id), request.deadline);
        let mut table = self.table.lock();
        table.deadlines.insert((deadline, id));
        table.requests.insert(id, request);
    }

    /// Ties a listener to a request: told, by the other end, when it has ended. Nothing where it has.
    pub(super) fn listened(&self, id: ReplyId) -> Option<oneshot::Receiver<()>> {
        let mut table = self.table.lock();
        let request = table.requests.get_mut(&number(id))?;
        let (listener, ended) = oneshot::channel();
        request.listener = Some(listener);
        Some(ended)
    }

    /// Takes the request of a reply: the first reply finds it, any other is late.
    pub(super) fn end(&self, id: ReplyId) -> Found {
        let id = number(id);
        let mut table = self.table.lock();
        let Some(request) = table.requests.remove(&id) else {
            let is_late = table.ended.ids.contains(&id);
            return if is_late { Found::Late } else { Found::Unknown };
        };
        table.deadlines.remove(&(request.deadline, id));
        table.ended.push(id);
        Found::Request(request)
    }

    /// Takes a request whose time is over.
    pub(super) fn expired(&self, now: Duration) -> Option<Request> {
        let mut table = self.table.lock();
        let (deadline, id) = *table.deadlines.first()?;
        if deadline > now {
            return None;
        }
        table.deadlines.remove(&(deadline, id));
        table.ended.push(id);
        table.requests.remove(&id)
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.table.lock().deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Requests that wait for a reply.
    pub(super) fn waiting(&self) -> usize {
        self.table.lock().requests.len()
    }

    /// Returns once no place is taken.
    pub(super) async fn idle(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.taken().0 == 0 {
                return;
            }
            emptied.await;
        }
    }

    /// Places taken, and by how many realms.
    pub(super) fn taken(&self) -> (usize, usize) {
        let table = self.table.lock();
        (table.taken, table.realms.len())
    }
}

/// The requests hold the table that holds them.
impl Drop for Pending {
    fn drop(&mut self) {
        let requests = std::mem::take(&mut self.table.lock().requests);
        drop(requests);
    }
}

impl Ended {
    fn push(&mut self, id: u128) {
        if self.order.len() == ENDED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        self.order.push_back(id);
        self.ids.insert(id);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut table = self.table.lock();
        table.taken -= 1;
        if let Some(taken) = table.realms.get_mut(&self.realm) {
            *taken -= 1;
            if *taken == 0 {
                table.realms.remove(&self.realm);
            }
        }
        if table.taken == 0 {
            self.emptied.notify_waiters();
        }
    }
}

fn number(id: ReplyId) -> u128 {
    u128::from_be_bytes(id.0)
}
