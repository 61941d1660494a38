use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::permissions::Permissions;
use mesh_core::port::{
    Appended, Capability, CloseReport, Connection, ConsumeOptions, Deliveries, ErrorKind, Incoming,
    PublishOptions, ReceiveError, SubscribeOptions, Subscription, TransportError,
};
use mesh_core::subject::Filter;
use mesh_core::topology::{ConsumerRef, ConsumerRules, Topology};

use super::{Bed, Failure, ensure, ensure_eq, located};
use crate::fixtures::{controller, message, module};

/// A bed with the verbs that cases are written in.
pub(crate) struct Scene {
    bed: Arc<dyn Bed>,
    /// What it was started with.
    topology: Topology,
    /// See [`Harness::span`](super::Harness::span).
    pub(crate) span: Duration,
    patience: Duration,
}

impl Scene {
    pub(crate) fn new(
        bed: Arc<dyn Bed>,
        topology: Topology,
        span: Duration,
        patience: Duration,
    ) -> Self {
        Self { bed, topology, span, patience }
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Dials as a module on node `n1` that may do everything.
    pub(crate) async fn join(&self, name: &str) -> Result<Connection, Failure> {
        self.dial(module("n1", name), None).await
    }

    /// Dials as the controller.
    pub(crate) async fn controller(&self) -> Result<Connection, Failure> {
        self.dial(controller(), None).await
    }

    pub(crate) async fn dial(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, Failure> {
        Ok(self.try_dial(principal, permissions).await??)
    }

    pub(crate) async fn try_dial(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Result<Connection, TransportError>, Failure> {
        let dialling = self.bed.connect(principal, permissions);
        self.soon("a connection", dialling).await
    }

    /// Replaces the permissions of who is connected.
    pub(crate) async fn set_permissions(
        &self,
        principal: &Principal,
        permissions: &Permissions,
    ) -> Result<(), Failure> {
        let changing = self.bed.set_permissions(principal, permissions);
        let changed = self.soon("other permissions", changing).await?;
        changed.map_err(|error| Failure::new(format!("permissions stay as they are: {error}")))
    }

    /// What `future` gives, if it does so in time.
    pub(crate) async fn soon<F: Future + Send>(
        &self,
        what: &str,
        future: F,
    ) -> Result<F::Output, Failure> {
        let waited = tokio::time::timeout(self.patience, future).await;
        waited.map_err(|_| Failure::new(format!("waited {:?} for {what}", self.patience)))
    }

    /// Returns when the broker's time has grown by so much.
    pub(crate) async fn pass(&self, span: Duration) {
        self.bed.pass(span).await;
    }

    /// What `future` gives while time passes in steps: whatever timer it waits for, and whenever
    /// that was set.
    pub(crate) async fn passing<F: Future + Send>(
        &self,
        what: &str,
        future: F,
    ) -> Result<F::Output, Failure>
    where
        F::Output: Send,
    {
        const STEPS: u32 = 24;
        let mut future = pin!(future);
        for _ in 0..STEPS {
            tokio::select! {
                biased;
                output = &mut future => return Ok(output),
                () = self.bed.pass(self.span / 4) => {}
            }
        }
        self.soon(what, future).await
    }

    /// The next arrival.
    #[track_caller]
    pub(crate) fn hear<T: Send>(
        &self,
        incoming: &mut Incoming<T>,
    ) -> impl Future<Output = Result<T, Failure>> + Send {
        located(async move {
            match self.item(incoming).await? {
                Some(Ok(arrival)) => Ok(arrival),
                Some(Err(word)) => Err(Failure::new(format!("instead of an arrival: {word}"))),
                None => Err(Failure::new("instead of an arrival it ended")),
            }
        })
    }

    /// The next word about the subscription itself.
    #[track_caller]
    pub(crate) fn told<T: Send>(
        &self,
        incoming: &mut Incoming<T>,
    ) -> impl Future<Output = Result<ReceiveError, Failure>> + Send {
        located(async move {
            match self.item(incoming).await? {
                Some(Ok(_)) => Err(Failure::new("an arrival was handed on")),
                Some(Err(word)) => Ok(word),
                None => Err(Failure::new("it ended without a word")),
            }
        })
    }

    #[track_caller]
    pub(crate) fn item<T: Send>(
        &self,
        incoming: &mut Incoming<T>,
    ) -> impl Future<Output = Result<Option<Result<T, ReceiveError>>, Failure>> + Send {
        located(async move { self.soon("an arrival", incoming.next()).await })
    }

    /// Everything that had reached the subscription: closes its connection and reads to the end.
    pub(crate) async fn rest<T: Send>(
        &self,
        connection: &Connection,
        mut incoming: Incoming<T>,
    ) -> Result<Vec<T>, Failure> {
        self.flush(connection).await?;
        self.close(connection).await?;
        let mut arrivals = Vec::new();
        while let Some(item) = self.item(&mut incoming).await? {
            arrivals.push(item?);
        }
        Ok(arrivals)
    }

    pub(crate) async fn close(&self, connection: &Connection) -> Result<CloseReport, Failure> {
        let closing = connection.transport().close(self.patience);
        self.soon("close", closing).await
    }

    pub(crate) async fn subscribe(
        &self,
        connection: &Connection,
        filter: &str,
    ) -> Result<Subscription, Failure> {
        self.subscribe_with(connection, filter, SubscribeOptions::default()).await
    }

    pub(crate) async fn subscribe_with(
        &self,
        connection: &Connection,
        filter: &str,
        options: SubscribeOptions,
    ) -> Result<Subscription, Failure> {
        let subscribing = connection.transport().subscribe(Filter::new(filter)?, options);
        Ok(self.soon("subscribe", subscribing).await??)
    }

    #[track_caller]
    pub(crate) fn publish(
        &self,
        connection: &Connection,
        message: Message,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        located(async move { Ok(self.try_publish(connection, message).await??) })
    }

    pub(crate) async fn try_publish(
        &self,
        connection: &Connection,
        message: Message,
    ) -> Result<Result<(), TransportError>, Failure> {
        let publishing = connection.transport().publish(message, PublishOptions::default());
        self.soon("publish", publishing).await
    }

    /// Publishes so many messages that are numbered from 0.
    pub(crate) async fn publish_numbers(
        &self,
        connection: &Connection,
        place: &str,
        count: u64,
    ) -> Result<(), Failure> {
        for number in 0..count {
            let sent = message(place, &number.to_string());
            self.publish(connection, sent).await?;
        }
        Ok(())
    }

    /// Hears exactly these next, in order.
    pub(crate) async fn hear_numbers(
        &self,
        subscription: &mut Subscription,
        count: u64,
    ) -> Result<(), Failure> {
        for number in 0..count {
            let heard = self.hear(subscription).await?;
            ensure_eq!(text(&heard), number.to_string(), "the next message");
        }
        Ok(())
    }

    /// Publishes where somebody must receive it.
    pub(crate) async fn publish_to_somebody(
        &self,
        connection: &Connection,
        message: Message,
    ) -> Result<Result<(), TransportError>, Failure> {
        let options = PublishOptions { require_receiver: true, ..PublishOptions::default() };
        let publishing = connection.transport().publish(message, options);
        self.soon("publish", publishing).await
    }

    pub(crate) async fn flush(&self, connection: &Connection) -> Result<(), Failure> {
        let flushing = connection.transport().flush(self.patience);
        Ok(self.soon("flush", flushing).await??)
    }

    #[track_caller]
    pub(crate) fn append(
        &self,
        connection: &Connection,
        message: Message,
    ) -> impl Future<Output = Result<Appended, Failure>> + Send {
        located(async move { Ok(self.try_append(connection, message).await??) })
    }

    pub(crate) async fn try_append(
        &self,
        connection: &Connection,
        message: Message,
    ) -> Result<Result<Appended, TransportError>, Failure> {
        let streams = connection.streams()?;
        let appending = streams.append(message, Default::default());
        self.soon("append", appending).await
    }

    pub(crate) async fn consume(
        &self,
        connection: &Connection,
        consumer: &ConsumerRef,
    ) -> Result<Deliveries, Failure> {
        self.consume_with(connection, consumer, ConsumeOptions::default()).await
    }

    pub(crate) async fn consume_with(
        &self,
        connection: &Connection,
        consumer: &ConsumerRef,
        options: ConsumeOptions,
    ) -> Result<Deliveries, Failure> {
        Ok(self.try_consume(connection, consumer, options).await??)
    }

    /// Reads a consumer; its rules are those of the topology, unless told.
    pub(crate) async fn try_consume(
        &self,
        connection: &Connection,
        consumer: &ConsumerRef,
        options: ConsumeOptions,
    ) -> Result<Result<Deliveries, TransportError>, Failure> {
        let rules = options.rules.or_else(|| rules_of(&self.topology, consumer));
        let options = ConsumeOptions { rules, ..options };
        let consuming = connection.streams()?.consume(consumer.clone(), options);
        self.soon("consume", consuming).await
    }
}

/// What a reader of `consumer` must be told: its rules, where they are not those of its stream.
pub(crate) fn rules_of(topology: &Topology, consumer: &ConsumerRef) -> Option<ConsumerRules> {
    let rules = topology.consumer(consumer)?.rules;
    (rules != ConsumerRules::of(consumer.stream)).then_some(rules)
}

/// Fails unless the call failed with this kind.
#[track_caller]
pub(crate) fn refused<T>(
    result: Result<T, TransportError>,
    kind: ErrorKind,
    what: &str,
) -> Result<(), Failure> {
    match result {
        Ok(_) => Err(Failure::new(format!("{what} was accepted"))),
        Err(error) if error.kind() == kind => Ok(()),
        Err(error) => Err(Failure::new(format!("{what}: expected \"{kind}\", found \"{error}\""))),
    }
}

/// Fails unless the call failed as one on a closed connection does.
#[track_caller]
pub(crate) fn closed<T>(result: Result<T, TransportError>, what: &str) -> Result<(), Failure> {
    refused(result, ErrorKind::Closed, what)
}

/// Fails unless the call failed for want of a capability.
#[track_caller]
pub(crate) fn unsupported<T>(
    result: Result<T, TransportError>,
    capability: Capability,
) -> Result<(), Failure> {
    let what = format!("what needs the undeclared {capability:?}");
    refused(result, ErrorKind::Unsupported, &what)
}

/// Fails unless subject, payload and headers are those that were sent. Headers that the broker adds
/// for itself don't count, nor does the order.
pub(crate) fn same(found: &Message, sent: &Message) -> Result<(), Failure> {
    ensure_eq!(found.subject(), sent.subject(), "subject");
    ensure!(
        found.payload() == sent.payload(),
        "payload: {} bytes were sent, other {} bytes arrived",
        sent.payload().len(),
        found.payload().len()
    );
    let own = |(name, _): &(&str, &str)| !name.to_ascii_lowercase().starts_with("nats-");
    let mut headers: Vec<_> = found.headers().iter().filter(own).collect();
    let mut expected: Vec<_> = sent.headers().iter().collect();
    headers.sort_unstable();
    expected.sort_unstable();
    ensure_eq!(headers, expected, "headers");
    Ok(())
}

/// The payload as text, to tell messages apart.
pub(crate) fn text(message: &Message) -> String {
    String::from_utf8_lossy(message.payload()).into_owned()
}
