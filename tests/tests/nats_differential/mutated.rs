//! A harness whose connections do one thing wrong, between the caller and an honest broker.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use mesh_core::identity::{Principal, Responder};
use mesh_core::message::Message;
use mesh_core::permissions::Permissions;
use mesh_core::port::{
    AppendOptions, Appended, Calls, Capabilities, Capability, CloseReport, Connection,
    ConnectionStates, ConsumeOptions, Deliveries, Delivery, PublishOptions, Requests, ServeOptions,
    Settlement, Streams, SubscribeOptions, Subscription, Transport, TransportError, Verdict,
};
use mesh_core::subject::Filter;
use mesh_core::topology::{ConsumerRef, Topology};
use mesh_testkit::suite::{Bed, Harness, StartError};

/// What is done wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// Nothing.
    Nothing,
    /// What is given back is held for ever.
    SwallowsNaks,
    /// Each try is called the one after it.
    CountsOneTryTooMany,
    /// What is terminated is acknowledged: no dead letter.
    AcksWhatIsTerminated,
    /// A known id is called new.
    CallsARepeatNew,
    /// Members of a group are plain subscribers.
    IgnoresGroups,
    /// A message goes out whether somebody is there or not.
    AsksNobody,
    /// Answers lose their headers.
    StripsAnswers,
}

/// The honest harness, and what is done wrong on its connections. It does not wait long: what does not
/// come is part of it.
pub struct Mutated<H>(pub H, pub Wrong);

impl<H> Mutated<H> {
    /// One that is as it should be, and another that does this wrong.
    pub fn pair<B>(honest: H, broken: B, wrong: Wrong) -> (Self, Mutated<B>) {
        (Self(honest, Wrong::Nothing), Mutated(broken, wrong))
    }
}

#[async_trait]
impl<H: Harness> Harness for Mutated<H> {
    fn promised(&self) -> Vec<Capability> {
        self.0.promised()
    }

    async fn start(&self, topology: &Topology) -> Result<Arc<dyn Bed>, StartError> {
        Ok(Arc::new(MutatedBed(self.0.start(topology).await?, self.1)))
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(2)
    }
}

struct MutatedBed(Arc<dyn Bed>, Wrong);

#[async_trait]
impl Bed for MutatedBed {
    async fn connect(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, TransportError> {
        let honest = self.0.connect(principal.clone(), permissions).await?;
        let port = Arc::new(Port { honest: honest.clone(), wrong: self.1 });
        let connection =
            Connection::new(principal, Arc::clone(honest.clock()), Arc::clone(&port) as _)
                .with_streams(Arc::clone(&port) as _)
                .with_requests(port);
        Ok(match honest.administration() {
            Ok(administration) => connection.with_administration(Arc::clone(administration)),
            Err(_) => connection,
        })
    }

    async fn pass(&self, span: Duration) {
        self.0.pass(span).await;
    }

    async fn stop(&self) {
        self.0.stop().await;
    }
}

#[derive(Debug)]
struct Port {
    honest: Connection,
    wrong: Wrong,
}

#[async_trait]
impl Transport for Port {
    fn capabilities(&self) -> &Capabilities {
        self.honest.transport().capabilities()
    }

    fn states(&self) -> ConnectionStates {
        self.honest.transport().states()
    }

    async fn publish(
        &self,
        message: Message,
        mut options: PublishOptions,
    ) -> Result<(), TransportError> {
        options.require_receiver &= self.wrong != Wrong::AsksNobody;
        self.honest.transport().publish(message, options).await
    }

    async fn subscribe(
        &self,
        filter: Filter,
        mut options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        options.group = options.group.filter(|_| self.wrong != Wrong::IgnoresGroups);
        self.honest.transport().subscribe(filter, options).await
    }

    async fn flush(&self, timeout: Duration) -> Result<(), TransportError> {
        self.honest.transport().flush(timeout).await
    }

    async fn close(&self, timeout: Duration) -> CloseReport {
        self.honest.transport().close(timeout).await
    }
}

#[async_trait]
impl Requests for Port {
    async fn request(
        &self,
        responder: Responder,
        message: Message,
        timeout: Duration,
    ) -> Result<Message, TransportError> {
        let answer = self.honest.requests()?.request(responder, message, timeout).await?;
        if self.wrong != Wrong::StripsAnswers {
            return Ok(answer);
        }
        Ok(Message::new(answer.subject().clone(), answer.payload().clone()))
    }

    async fn serve(&self, filter: Filter, options: ServeOptions) -> Result<Calls, TransportError> {
        self.honest.requests()?.serve(filter, options).await
    }
}

#[async_trait]
impl Streams for Port {
    async fn append(
        &self,
        message: Message,
        options: AppendOptions,
    ) -> Result<Appended, TransportError> {
        let mut appended = self.honest.streams()?.append(message, options).await?;
        appended.duplicate &= self.wrong != Wrong::CallsARepeatNew;
        Ok(appended)
    }

    async fn consume(
        &self,
        consumer: ConsumerRef,
        options: ConsumeOptions,
    ) -> Result<Deliveries, TransportError> {
        let wrong = self.wrong;
        let deliveries = self.honest.streams()?.consume(consumer, options).await?;
        Ok(Deliveries::new(
            deliveries.map(move |item| item.map(|delivery| spoilt(delivery, wrong))),
        ))
    }
}

fn spoilt(delivery: Delivery, wrong: Wrong) -> Delivery {
    let (message, mut info) = (delivery.message().clone(), *delivery.info());
    info.attempt += u32::from(wrong == Wrong::CountsOneTryTooMany);
    Delivery::new(message, info, Box::new(Spoilt { delivery, wrong }))
}

struct Spoilt {
    delivery: Delivery,
    wrong: Wrong,
}

#[async_trait]
impl Settlement for Spoilt {
    async fn settle(self: Box<Self>, verdict: Verdict) -> Result<(), TransportError> {
        match verdict {
            Verdict::Nak { .. } if self.wrong == Wrong::SwallowsNaks => {
                std::mem::forget(self.delivery);
                Ok(())
            }
            Verdict::Terminate(_) if self.wrong == Wrong::AcksWhatIsTerminated => {
                self.delivery.ack().await
            }
            verdict => self.delivery.settle(verdict).await,
        }
    }

    async fn progress(&self) -> Result<(), TransportError> {
        self.delivery.progress().await
    }

    fn release(self: Box<Self>) {}
}
