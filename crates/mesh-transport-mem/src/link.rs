use std::collections::BTreeMap;
use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::port::{Operation, TransportError};
use mesh_core::topology::{Account, Inbox};
use parking_lot::Mutex;

use crate::access::Access;
use crate::broker::{Broker, Sender};
use crate::live::{End, EntryId, Held, Listener};
use crate::space::Space;
use crate::status::{Over, Status};
use crate::stream::{Seat, SeatId, Stream};

/// One connection, as the broker knows it.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) id: LinkId,
    pub(crate) principal: Arc<Principal>,
    pub(crate) account: Account,
    /// How it was let in, where that was as one of a mesh's users.
    pub(crate) login: Option<Login>,
    pub(crate) inbox: Inbox,
    pub(crate) access: Arc<Access>,
    pub(crate) status: Status,
    pub(crate) broker: Arc<Broker>,
    /// Nothing once the connection is over: what comes too late finds no place.
    attached: Mutex<Option<Attached>>,
}

/// Who a connection is.
#[derive(Debug)]
pub(crate) struct Who {
    pub(crate) principal: Principal,
    pub(crate) account: Account,
    pub(crate) login: Option<Login>,
}

/// As which of a mesh's users a connection was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Login {
    /// As that of this name.
    Named(Arc<str>),
    /// As whatever users its principal has.
    Principal,
}

impl Who {
    /// Somebody where nothing is kept apart.
    pub(crate) fn anywhere(principal: Principal) -> Self {
        Self { principal, account: Account::Whole, login: None }
    }
}

/// Names one connection of a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LinkId(pub(crate) u64);

#[derive(Debug, Default)]
struct Attached {
    listeners: BTreeMap<EntryId, Arc<Listener>>,
    readers: BTreeMap<SeatId, (Arc<Stream>, Arc<Seat>)>,
}

impl Link {
    pub(crate) fn new(id: LinkId, who: Who, access: Access, broker: Arc<Broker>) -> Self {
        let Who { principal, account, login } = who;
        Self {
            id,
            account,
            login,
            inbox: Inbox::of(&principal),
            principal: Arc::new(principal),
            access: Arc::new(access),
            status: Status::new(),
            broker,
            attached: Mutex::new(Some(Attached::default())),
        }
    }

    /// This connection as who sends something.
    pub(crate) fn sender(&self) -> Sender<'_> {
        Sender { who: Some(&self.principal), space: Space::of(self.account) }
    }

    /// Refuses a call on a connection that is over.
    pub(crate) fn check_open(&self, operation: Operation) -> Result<(), TransportError> {
        match self.status.over() {
            None => Ok(()),
            Some(how) => Err(how.error(operation)),
        }
    }

    fn too_late(&self, operation: Operation) -> TransportError {
        self.status.over().unwrap_or(Over::Closed).error(operation)
    }

    /// Gives a listener its place: it is live from now on.
    pub(crate) fn attach_listener(
        self: &Arc<Self>,
        listener: Listener,
        operation: Operation,
    ) -> Result<Held, TransportError> {
        let listener = Arc::new(listener);
        let mut attached = self.attached.lock();
        let Some(attached) = attached.as_mut() else {
            return Err(self.too_late(operation));
        };
        let id = self.broker.hub.add(&listener)?;
        attached.listeners.insert(id, Arc::clone(&listener));
        Ok(Held { listener, id, link: Arc::clone(self) })
    }

    pub(crate) fn detach_listener(&self, id: EntryId) {
        let known = match self.attached.lock().as_mut() {
            Some(attached) => attached.listeners.remove(&id).is_some(),
            None => false,
        };
        if known {
            self.broker.hub.remove(id);
        }
    }

    /// Notes a reader, so that it ends with the connection.
    pub(crate) fn attach_reader(
        &self,
        stream: &Arc<Stream>,
        seat: &Arc<Seat>,
    ) -> Result<(), TransportError> {
        match self.attached.lock().as_mut() {
            Some(attached) => {
                let reader = (Arc::clone(stream), Arc::clone(seat));
                attached.readers.insert(seat.id, reader);
                Ok(())
            }
            None => Err(self.too_late(Operation::Consume)),
        }
    }

    pub(crate) fn detach_reader(&self, seat: SeatId) {
        if let Some(attached) = self.attached.lock().as_mut() {
            attached.readers.remove(&seat);
        }
    }

    /// Ends the connection and everything on it; the answer is how many deliveries and calls were
    /// given back.
    pub(crate) fn end(&self, how: Over) -> u64 {
        if !self.status.end(how) {
            return 0;
        }
        let Some(attached) = self.attached.lock().take() else {
            return 0;
        };
        let end = |operation| match how {
            Over::Closed => End::Closed,
            Over::Severed => End::Because(how.error(operation)),
        };
        let mut released = 0;
        for id in attached.listeners.keys() {
            self.broker.hub.remove(*id);
        }
        for listener in attached.listeners.values() {
            listener.end(end(Operation::Subscribe));
            released += self.broker.hand_on(listener);
        }
        for (stream, seat) in attached.readers.values() {
            seat.end(end(Operation::Consume));
            released += self.broker.leave(stream, seat);
        }
        self.broker.pending.fail_all(self.id, &how.error(Operation::Request));
        released
    }

    /// Ends what the connection's permissions no longer allow.
    pub(crate) fn apply_access(&self) {
        let (listeners, readers) = match self.attached.lock().as_ref() {
            Some(Attached { listeners, readers }) => (listeners.clone(), readers.clone()),
            None => return,
        };
        for (id, listener) in listeners {
            let Listener { filter, group, .. } = &*listener;
            let allowed = self.access.subscribe(filter, group.as_ref(), Operation::Subscribe);
            if let Err(error) = allowed {
                self.detach_listener(id);
                listener.end(End::Because(error));
                self.broker.hand_on(&listener);
            }
        }
        for (stream, seat) in readers.into_values() {
            if let Err(error) = self.access.consume(&seat.consumer, seat.shared) {
                self.detach_reader(seat.id);
                seat.end(End::Because(error));
                self.broker.leave(&stream, &seat);
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.broker.forget_link(self.id);
    }
}
