//! A transport over another one: it declares less, notes how deliveries are settled, and forgets its
//! time where it is told to.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use mesh_core::identity::Responder;
use mesh_core::message::Headers;
use mesh_core::port::{
    Answer, Appended, Call, Calls, Capabilities, Capability, CloseReport, ConnectionStates,
    ConsumeOptions, Deliveries, Delivery, ErrorKind, Incoming, Operation, PublishOptions, Requests,
    ServeOptions, Settlement, Streams, SubscribeOptions, Subscription, Transport, TransportError,
    Verdict,
};
use mesh_core::topology::ConsumerRef;

use super::*;

#[derive(Debug, Clone)]
pub(super) struct Fake {
    inner: Connection,
    capabilities: Capabilities,
    deaf: Arc<Mutex<Vec<Operation>>>,
    panics: bool,
    notes: Notes,
}

impl Fake {
    pub(super) fn over(inner: Connection) -> Self {
        let capabilities = inner.transport().capabilities().clone();
        Self { inner, capabilities, deaf: Arc::default(), panics: false, notes: Notes::default() }
    }

    /// It gives this guarantee no more.
    pub(super) fn without(mut self, capability: Capability) -> Self {
        let others = self.capabilities.iter().filter(|other| *other != capability);
        self.capabilities = Capabilities::new(*self.capabilities.limits(), others);
        self
    }

    /// It never comes back from this.
    pub(super) fn deaf(self, to: Operation) -> Self {
        self.deaf.lock().push(to);
        self
    }

    /// What it delivers makes it panic.
    pub(super) fn panicking(mut self) -> Self {
        self.panics = true;
        self
    }

    /// What was done: `progress`, `ack`, `nak`, each `consume`, and `left` when its reader is gone.
    pub(super) fn notes(&self) -> &Notes {
        &self.notes
    }

    pub(super) fn count(&self, what: &str) -> usize {
        self.notes.read().iter().filter(|note| *note == what).count()
    }

    pub(super) fn connection(&self) -> Connection {
        let me = Arc::new(self.clone());
        let (principal, clock) = (self.inner.principal().clone(), Arc::clone(self.inner.clock()));
        Connection::new(principal, clock, Arc::clone(&me) as _)
            .with_streams(Arc::clone(&me) as _)
            .with_requests(me)
    }

    async fn begin(&self, operation: Operation) {
        if self.deaf.lock().contains(&operation) {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl Transport for Fake {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn states(&self) -> ConnectionStates {
        self.inner.transport().states()
    }

    async fn publish(&self, of: Message, options: PublishOptions) -> Result<(), TransportError> {
        self.inner.transport().publish(of, options).await
    }

    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        self.inner.transport().subscribe(filter, options).await
    }

    async fn flush(&self, timeout: Duration) -> Result<(), TransportError> {
        self.inner.transport().flush(timeout).await
    }

    async fn close(&self, timeout: Duration) -> CloseReport {
        self.begin(Operation::Close).await;
        self.inner.transport().close(timeout).await
    }
}

#[async_trait]
impl Streams for Fake {
    async fn append(
        &self,
        message: Message,
        options: AppendOptions,
    ) -> Result<Appended, TransportError> {
        self.begin(Operation::Append).await;
        self.inner.streams()?.append(message, options).await
    }

    async fn consume(
        &self,
        consumer: ConsumerRef,
        options: ConsumeOptions,
    ) -> Result<Deliveries, TransportError> {
        self.notes.write("consume");
        self.begin(Operation::Consume).await;
        let deliveries = self.inner.streams()?.consume(consumer, options).await?;
        let (fake, reader) = (self.clone(), Reader(self.notes.clone()));
        Ok(Incoming::new(deliveries.map(move |arrival| {
            let (inner, _) = (arrival?, &reader);
            assert!(!fake.panics, "as told");
            let (message, info) = (inner.message().clone(), *inner.info());
            Ok(Delivery::new(message, info, Box::new(Held { inner, fake: fake.clone() })))
        })))
    }
}

/// Notes that its reader has left.
struct Reader(Notes);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.write("left");
    }
}

struct Held {
    inner: Delivery,
    fake: Fake,
}

#[async_trait]
impl Settlement for Held {
    async fn settle(self: Box<Self>, verdict: Verdict) -> Result<(), TransportError> {
        let Self { inner, fake } = *self;
        let note = match &verdict {
            Verdict::Ack => "ack",
            Verdict::Nak { delay: None } => "nak",
            Verdict::Nak { delay: Some(_) } => "nak with a delay",
            Verdict::Terminate(_) => "terminate",
        };
        fake.notes.write(note);
        fake.begin(Operation::Settle).await;
        let delays = matches!(verdict, Verdict::Nak { delay: Some(_) });
        if delays && !fake.capabilities.has(Capability::DelayedNak) {
            return Err(TransportError::new(ErrorKind::Unsupported, Operation::Settle));
        }
        inner.settle(verdict).await
    }

    async fn progress(&self) -> Result<(), TransportError> {
        self.fake.notes.write("progress");
        self.fake.begin(Operation::Progress).await;
        self.inner.progress().await
    }

    fn release(self: Box<Self>) {
        self.fake.notes.write("release");
    }
}

#[async_trait]
impl Requests for Fake {
    async fn request(
        &self,
        responder: Responder,
        message: Message,
        timeout: Duration,
    ) -> Result<Message, TransportError> {
        self.begin(Operation::Request).await;
        self.inner.requests()?.request(responder, message, timeout).await
    }

    async fn serve(&self, filter: Filter, options: ServeOptions) -> Result<Calls, TransportError> {
        self.begin(Operation::Serve).await;
        let calls = self.inner.requests()?.serve(filter, options).await?;
        let fake = self.clone();
        let proves = self.capabilities.has(Capability::ScopedReplies);
        // It does not say when they arrived, and proves nobody where it has checked no reply address.
        Ok(Incoming::new(calls.map(move |arrival| {
            let inner = arrival?;
            let (message, caller) = (inner.message().clone(), inner.caller().cloned());
            let caller = caller.filter(|_| proves);
            Ok(Call::new(message, caller, Box::new(Owed { inner, fake: fake.clone() })))
        })))
    }
}

struct Owed {
    inner: Call,
    fake: Fake,
}

#[async_trait]
impl Answer for Owed {
    async fn send(self: Box<Self>, headers: Headers, payload: Bytes) -> Result<(), TransportError> {
        self.fake.begin(Operation::Answer).await;
        self.inner.answer(headers, payload).await
    }
}
