use std::sync::Arc;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{Clock, QueueGroup, ReceiveError};
use mesh_core::subject::Filter;
use mesh_core::topology::Account;

use super::queue::{End, Offer, Queue};
use crate::access::Access;

/// One live subscription, as those who publish see it.
#[derive(Debug)]
pub(crate) struct Listener {
    /// Listeners are served in the order they came.
    pub(crate) number: u64,
    pub(crate) filter: Filter,
    pub(crate) group: Option<QueueGroup>,
    pub(crate) sink: Sink,
    /// What its connection may hear at all.
    pub(crate) access: Arc<Access>,
    /// Where it listens.
    pub(crate) account: Account,
}

/// Where its messages wait.
#[derive(Debug)]
pub(crate) enum Sink {
    /// For a subscription.
    Messages(Queue<Message>),
    /// For a server of calls.
    Calls(Queue<Asked>, Arc<dyn Clock>),
}

/// A call, with who made it and when it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) message: Message,
    /// Nothing where the broker speaks in nobody's name.
    pub(crate) caller: Option<Arc<Principal>>,
    pub(crate) at: Duration,
}

impl Asked {
    fn new(message: Message, caller: Option<&Arc<Principal>>, clock: &dyn Clock) -> Self {
        Self { message, caller: caller.cloned(), at: clock.monotonic() }
    }
}

impl Listener {
    /// Gives it the message if there is room.
    pub(super) fn offer(
        &self,
        message: Message,
        caller: Option<&Arc<Principal>>,
    ) -> Offer<Message> {
        match self.access.counts(&message) {
            None => self.put(message, caller),
            Some(reply) => {
                let taken = |offer: &Offer<Message>| matches!(offer, Offer::Taken);
                self.access.give(&reply, || self.put(message, caller), taken)
            }
        }
    }

    fn put(&self, message: Message, caller: Option<&Arc<Principal>>) -> Offer<Message> {
        match &self.sink {
            Sink::Messages(queue) => queue.offer(message),
            Sink::Calls(queue, clock) => match queue.offer(Asked::new(message, caller, &**clock)) {
                Offer::Taken => Offer::Taken,
                Offer::Full(asked, fullness) => Offer::Full(asked.message, fullness),
                Offer::Gone(asked) => Offer::Gone(asked.message),
            },
        }
    }

    /// Gives it the message, or counts it as lost there.
    pub(super) fn insist(&self, message: Message, caller: Option<&Arc<Principal>>, in_vain: bool) {
        let reply = self.access.counts(&message);
        let put = || match &self.sink {
            Sink::Messages(queue) => queue.insist(message, in_vain),
            Sink::Calls(queue, clock) => {
                queue.insist(Asked::new(message, caller, &**clock), in_vain)
            }
        };
        match reply {
            None => _ = put(),
            Some(reply) => _ = self.access.give(&reply, put, |taken| *taken),
        }
    }

    pub(crate) fn end(&self, end: End) {
        match &self.sink {
            Sink::Messages(queue) => queue.end(end),
            Sink::Calls(queue, _) => queue.end(end),
        }
    }

    /// Tells its reader, if it is a server of calls.
    pub(crate) fn tell(&self, word: ReceiveError) {
        if let Sink::Calls(queue, _) = &self.sink {
            queue.tell(word);
        }
    }

    /// Takes out the calls that its reader has not taken, to be handed on.
    pub(crate) fn unread_calls(&self) -> Vec<Asked> {
        match &self.sink {
            Sink::Messages(_) => Vec::new(),
            Sink::Calls(queue, _) => queue.drain(),
        }
    }

    /// Drops the messages that nobody will read.
    pub(super) fn forget(&self) {
        if let Sink::Messages(queue) = &self.sink {
            queue.drain();
        }
    }
}
