use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use mesh_core::message::Message;
use mesh_core::port::{
    Capabilities, Capability, CloseReport, ConnectionState, ConnectionStates, ErrorKind, Incoming,
    Operation, PublishOptions, QueueGroup, ReceiveError, SubscribeOptions, Subscription, Transport,
    TransportError,
};
use mesh_core::subject::Filter;
use mesh_core::topology::Inbox;

use super::Broker;
use super::link::Link;
use super::state::{Queued, Subscriber};

/// Ends the subscription when its stream is dropped.
struct Unsubscribe(Arc<Broker>, u64);

impl Drop for Unsubscribe {
    fn drop(&mut self) {
        self.0.lock().unsubscribe(self.1);
    }
}

impl Link {
    /// Subscribes, and turns what is heard, and from whom, into arrivals.
    pub fn listen<T: 'static>(
        &self,
        filter: Filter,
        group: Option<QueueGroup>,
        buffer: usize,
        serves: bool,
        arrive: impl Fn(Message, u64, Duration) -> Result<T, ReceiveError> + Send + 'static,
    ) -> Incoming<T> {
        let rules = self.may().subscribe;
        let mut state = self.broker.lock();
        let id = state.id();
        if state.breaks("keeps one subscription for a filter") {
            let same = |other: &Subscriber| other.connection == self.id && other.filter == filter;
            state.subscriptions.retain(|other| !same(other));
        }
        let late = usize::from(state.breaks("subscribes a little late"));
        state.subscriptions.push(Subscriber {
            id,
            connection: self.id,
            filter,
            group,
            buffer,
            queue: Default::default(),
            rules,
            late,
            serves,
            ended: false,
            denied: false,
        });
        drop(state);
        let guard = Unsubscribe(Arc::clone(&self.broker), id);
        Incoming::new(stream::poll_fn(move |context| {
            let mut state = guard.0.lock();
            let open = state.breaks("leaves subscriptions open");
            let wrong = state.breaks("ends subscriptions with an error");
            let found = state.subscriptions.iter_mut().find(|other| other.id == guard.1);
            let Some(subscriber) = found else {
                return Poll::Ready(None);
            };
            match subscriber.queue.pop_front() {
                Some(Queued::Message(message, from, since)) => {
                    drop(state);
                    return Poll::Ready(Some(arrive(message, from, since)));
                }
                Some(Queued::Lost(lost)) => {
                    return Poll::Ready(Some(Err(ReceiveError::Lagged { lost })));
                }
                Some(Queued::Word(word)) => return Poll::Ready(Some(Err(word))),
                None if subscriber.denied => {
                    subscriber.denied = false;
                    let error = TransportError::new(ErrorKind::Denied, Operation::Subscribe);
                    return Poll::Ready(Some(Err(ReceiveError::Ended(error))));
                }
                None if subscriber.ended && wrong => {
                    let error = TransportError::new(ErrorKind::Closed, Operation::Subscribe);
                    return Poll::Ready(Some(Err(ReceiveError::Ended(error))));
                }
                None if subscriber.ended && !open => return Poll::Ready(None),
                None => {}
            }
            state.wakers.push(context.waker().clone());
            Poll::Pending
        }))
    }

    /// Subscribes, and forgets to end that if the call is given up.
    pub async fn leave_midway(&self, filter: Filter, group: Option<QueueGroup>, serves: bool) {
        let left = self.listen(filter, group, 1, serves, |message, _, _| Ok(message));
        let left = ManuallyDrop::new(left);
        self.under_way().await;
        drop(ManuallyDrop::into_inner(left));
    }

    /// Sends what was accepted and held back.
    pub fn send_held(&self) {
        if let Some(message) = self.held.lock().take() {
            self.broker.lock().deliver(&message, self.id);
        }
    }

    fn waiting_for_broker(&self, message: Message) -> Message {
        message.with_reply(Inbox::of(&self.principal).echo(1))
    }

    /// Hands a message to the broker; answers how many receive it.
    fn send(&self, message: Message) -> usize {
        let holds = ["flushes nothing", "closes before it sends"];
        if holds.iter().any(|rule| self.breaks(rule)) {
            self.send_held();
            *self.held.lock() = Some(message);
            return 1;
        }
        if self.breaks("reorders") && self.held.lock().is_none() {
            *self.held.lock() = Some(message);
            return 1;
        }
        let receivers = self.broker.lock().deliver(&message, self.id);
        self.send_held();
        receivers
    }
}

#[async_trait]
impl Transport for Link {
    fn capabilities(&self) -> &Capabilities {
        self.broker.declared()
    }

    fn states(&self) -> ConnectionStates {
        let broker = Arc::clone(&self.broker);
        let id = self.id;
        let mut told = 0;
        let silent = self.breaks("begins without a state");
        let endless = self.breaks("never says that it closed");
        ConnectionStates::new(stream::poll_fn(move |context| {
            let mut state = broker.lock();
            let closed = state.closed.contains(&id) && !endless;
            let next = match (told, closed) {
                (0, false) if silent => Some(ConnectionState::Connecting),
                (0, false) => Some(ConnectionState::Connected),
                (0 | 1, true) => Some(ConnectionState::Closed),
                (2, _) => None,
                _ => {
                    state.wakers.push(context.waker().clone());
                    return Poll::Pending;
                }
            };
            told = if closed { 2 } else { 1 };
            Poll::Ready(next)
        }))
    }

    async fn publish(
        &self,
        message: Message,
        options: PublishOptions,
    ) -> Result<(), TransportError> {
        self.open(Operation::Publish, "publishes after close")?;
        if options.require_receiver {
            self.broker.needs(Capability::ReceiverCheck, Operation::Publish)?;
        }
        if let Err(problem) = options.check(&message)
            && !self.breaks("takes a reply address for a receiver")
        {
            if self.breaks("sends what it refuses") {
                self.send(message.clone());
            }
            let subject = message.subject().as_str();
            return Err(TransportError::of_message(problem, Operation::Publish, subject));
        }
        let message = self.checked(message, Operation::Publish)?;
        if self.owed.lock().is_some() {
            return Ok(());
        }
        let all = self.breaks("wants a receiver for everything");
        let message = match self.breaks("shows where it waits for the broker") {
            true if options.require_receiver => self.waiting_for_broker(message),
            _ => message,
        };
        let reply = message.reply().cloned();
        if self.send(message) == 0 {
            if all || options.require_receiver && self.tells_absence() {
                return Err(TransportError::new(ErrorKind::NoResponders, Operation::Publish));
            }
            if let Some(reply) = reply.filter(|_| self.breaks("speaks at the reply address")) {
                self.send(Message::new(reply, ""));
            }
        }
        Ok(())
    }

    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        self.open(Operation::Subscribe, "subscribes after close")?;
        if filter.has_wildcard() {
            self.broker.needs(Capability::Wildcards, Operation::Subscribe)?;
        }
        if options.group.is_some() {
            self.broker.needs(Capability::QueueGroups, Operation::Subscribe)?;
        }
        self.may_subscribe(&filter, options.group.as_ref(), Operation::Subscribe)?;
        if self.breaks("keeps what was given up") {
            self.leave_midway(filter.clone(), options.group.clone(), false).await;
        } else {
            self.under_way().await;
        }
        let buffer = options.buffer.get();
        Ok(self.listen(filter, options.group, buffer, false, |message, _, _| Ok(message)))
    }

    async fn flush(&self, _timeout: Duration) -> Result<(), TransportError> {
        self.open(Operation::Flush, "flushes after close")?;
        self.broker.used.store(true, Ordering::Relaxed);
        if !self.breaks("flushes no settlement") {
            self.broker.lock().settle_late();
        }
        if !self.breaks("flushes nothing") && !self.breaks("reorders") {
            self.send_held();
        }
        Ok(())
    }

    async fn close(&self, _timeout: Duration) -> CloseReport {
        if !self.breaks("closes before it sends") {
            self.send_held();
        }
        if self.breaks("counts for each that closes") {
            let released = self.broker.lock().claims_of(self.id);
            self.under_way().await;
            let mut state = self.broker.lock();
            state.closed.insert(self.id);
            state.release_all(|claim| claim.connection == self.id);
            return CloseReport { released, ..CloseReport::default() };
        }
        if self.breaks("waits for another that closes") && self.is_closed() {
            std::future::pending::<()>().await;
        }
        let mut state = self.broker.lock();
        if !state.closed.insert(self.id) {
            let finished = u64::from(state.breaks("closes twice"));
            return CloseReport { finished, ..CloseReport::default() };
        }
        for subscriber in &mut state.subscriptions {
            subscriber.ended |= subscriber.connection == self.id;
        }
        let released = if state.breaks("keeps claims of the closed") {
            0
        } else {
            state.release_all(|claim| claim.connection == self.id)
        };
        state.changed();
        CloseReport { released, ..CloseReport::default() }
    }
}
