//! What waits for the neighbours: a queue and a task for each that something waits for, so that one that
//! is slow or away delays nobody else, and who is quiet costs nothing.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use mesh_core::message::Message;
use mesh_core::mx::{MailboxKind, Topic};
use mesh_core::name::RealmName;
use mesh_core::port::{
    Capability, Connection, ErrorKind, Operation, PublishOptions, TransportError,
};
use mesh_core::subject::Subject;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::counters::{Counts, Way};
use super::{DropReason, FailingLink, RouterOptions};

/// Where a message goes: a neighbour's inbox, or without one the own mailbox.
type Target = Option<RealmName>;

#[derive(Debug)]
pub(super) struct Links {
    backbone: Connection,
    realm: RealmName,
    options: RouterOptions,
    pub(super) counts: Arc<Counts>,
    state: Mutex<State>,
    /// Told whenever nothing waits any more.
    empty: Notify,
}

#[derive(Debug, Default)]
struct State {
    queues: HashMap<Target, VecDeque<(Way, Bytes)>>,
    waiting: usize,
    bytes: usize,
    failing: BTreeMap<Target, FailingLink>,
    tasks: JoinSet<()>,
    closed: bool,
}

impl Links {
    pub(super) fn new(backbone: Connection, realm: RealmName, options: RouterOptions) -> Self {
        let counts = Arc::new(Counts::new(backbone.system(), realm.as_str()));
        Self { backbone, realm, options, counts, state: Mutex::default(), empty: Notify::new() }
    }

    /// Puts a message where it waits for its turn, behind what came before it for the same target.
    pub(super) fn send(
        self: &Arc<Self>,
        to: Target,
        way: Way,
        bytes: Bytes,
    ) -> Result<(), DropReason> {
        let mut state = self.state.lock();
        let size = bytes.len();
        let before = state.queues.get(&to).map_or(0, VecDeque::len);
        let too_many = before >= self.options.waiting_each;
        if state.closed || too_many || state.bytes.saturating_add(size) > self.options.waiting_bytes
        {
            return Err(DropReason::Busy);
        }
        let State { queues, tasks, .. } = &mut *state;
        // Whose task is done is forgotten whenever another begins.
        while tasks.try_join_next().is_some() {}
        let queue = queues.entry(to.clone()).or_insert_with(|| {
            tasks.spawn(Arc::clone(self).work(to));
            VecDeque::new()
        });
        queue.push_back((way, bytes));
        state.waiting += 1;
        state.bytes += size;
        Ok(())
    }

    /// Sends what waits for one target, in order, until nothing does.
    async fn work(self: Arc<Self>, to: Target) {
        let subject = self.subject(&to);
        while let Some((way, bytes)) = self.first(&to) {
            let size = bytes.len();
            let sent = self.publish(&subject, bytes).await;
            self.settled(&to, way, size, sent);
        }
    }

    fn subject(&self, to: &Target) -> Subject {
        match to {
            Some(realm) => Topic::route_inbox(realm, self.options.shard),
            None => MailboxKind::Mx(self.options.shard).subject(&self.realm),
        }
    }

    /// The first that waits; it goes on being counted while it is sent. With none, the queue ends.
    fn first(&self, to: &Target) -> Option<(Way, Bytes)> {
        let mut state = self.state.lock();
        let first = state.queues.get_mut(to)?.pop_front();
        if first.is_none() {
            state.queues.remove(to);
        }
        first
    }

    async fn publish(&self, subject: &Subject, bytes: Bytes) -> Result<(), TransportError> {
        let transport = self.backbone.transport();
        let timeout = self.options.timeout;
        let require_receiver = transport.capabilities().has(Capability::ReceiverCheck);
        let options = PublishOptions { require_receiver, timeout };
        let message = Message::new(subject.clone(), bytes);
        tokio::select! {
            biased;
            sent = transport.publish(message, options) => sent,
            () = self.backbone.clock().sleep(timeout) => {
                Err(TransportError::new(ErrorKind::TimedOut, Operation::Publish).about(subject))
            }
        }
    }

    fn settled(&self, to: &Target, way: Way, size: usize, sent: Result<(), TransportError>) {
        match &sent {
            Ok(()) => self.counts.passed_on(way),
            Err(error) if error.kind() == ErrorKind::NoResponders => {
                self.counts.dropped(DropReason::Absent);
            }
            Err(_) => self.counts.dropped(DropReason::Failed),
        }
        let mut state = self.state.lock();
        let known = state.failing.len();
        let told = match sent {
            Ok(()) => state.failing.remove(to).map(Ok),
            Err(error) => match state.failing.get_mut(to) {
                Some(failing) => {
                    failing.failures += 1;
                    failing.error = error.kind();
                    None
                }
                None if known >= FailingLink::MOST => None,
                None => {
                    let failing =
                        FailingLink { neighbour: to.clone(), error: error.kind(), failures: 1 };
                    state.failing.insert(to.clone(), failing);
                    Some(Err(error))
                }
            },
        };
        // An abort may have come first.
        state.waiting = state.waiting.saturating_sub(1);
        state.bytes = state.bytes.saturating_sub(size);
        let empty = state.waiting == 0;
        drop(state);
        if empty {
            self.empty.notify_waiters();
        }
        let neighbour = to.as_ref().map_or("the own mailbox", RealmName::as_str);
        match told {
            Some(Ok(failing)) => {
                let failures = failing.failures;
                tracing::info!(realm = %self.realm, neighbour, failures, "takes messages again");
            }
            Some(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(realm = %self.realm, neighbour, error, "did not take a message");
            }
            None => {}
        }
    }

    /// How many messages wait, and their bytes.
    pub(super) fn waiting(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.waiting, state.bytes)
    }

    pub(super) fn failing(&self) -> Vec<FailingLink> {
        self.state.lock().failing.values().cloned().collect()
    }

    /// Takes nothing more, and returns when nothing waits.
    pub(super) async fn drained(&self) {
        self.state.lock().closed = true;
        loop {
            let mut empty = std::pin::pin!(self.empty.notified());
            empty.as_mut().enable();
            if self.waiting().0 == 0 {
                return;
            }
            empty.await;
        }
    }

    /// Ends every task, and tells how many messages still waited.
    pub(super) fn abort(&self) -> usize {
        let mut state = self.state.lock();
        state.closed = true;
        state.tasks.abort_all();
        state.queues.clear();
        state.bytes = 0;
        std::mem::take(&mut state.waiting)
    }
}
