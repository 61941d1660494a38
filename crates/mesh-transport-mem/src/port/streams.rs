use std::sync::Arc;

use async_trait::async_trait;
use mesh_core::message::Message;
use mesh_core::port::{
    AppendOptions, Appended, ConsumeOptions, Deliveries, ErrorKind, Incoming, Operation, Streams,
    TransportError,
};
use mesh_core::topology::{ConsumerRef, DeliverySubject};
use tokio::task::coop;

use super::Port;
use crate::live::offer;
use crate::space::Space;
use crate::stream::{Append, Reading, Seat};

#[async_trait]
impl Streams for Port {
    async fn append(
        &self,
        message: Message,
        options: AppendOptions,
    ) -> Result<Appended, TransportError> {
        self.check(&message, Operation::Append)?;
        coop::consume_budget().await;
        let broker = &self.link.broker;
        let from = self.link.sender();
        let route = broker.hub.route(from.space, message.subject());
        let Some(stream) = &route.stream else {
            return Err(TransportError::new(ErrorKind::NotFound, Operation::Append)
                .about(message.subject())
                .detail("no stream takes it"));
        };
        let append = Append {
            id: options.id.as_ref(),
            expected_last: options.expected_last,
            operation: Operation::Append,
        };
        let appended = broker.keep(stream, &message, append)?;
        if !appended.duplicate
            && let Some(full) = broker.reach(offer(&route, message, from.who), from).full
        {
            self.wait(full).await;
        }
        Ok(appended)
    }

    async fn consume(
        &self,
        consumer: ConsumerRef,
        options: ConsumeOptions,
    ) -> Result<Deliveries, TransportError> {
        let link = &self.link;
        link.check_open(Operation::Consume)?;
        let not_found = || {
            TransportError::new(ErrorKind::NotFound, Operation::Consume).about(consumer.to_string())
        };
        let delivery = DeliverySubject::of(consumer.clone()).to_subject();
        let stream = link.broker.stream(consumer.stream);
        // The streams are in BUS. Not every one of them delivers into the other account.
        let stream = stream.filter(|_| Space::Bus.reaches(link.account, &delivery));
        let shared = stream.as_ref().and_then(|stream| stream.is_shared(&consumer.consumer));
        // Who may not read it does not learn whether it is there.
        link.access.consume(&consumer, shared.unwrap_or(true))?;
        let (Some(stream), Some(shared)) = (stream, shared) else {
            return Err(not_found());
        };
        let seat = Arc::new(Seat::new(link.broker.seat_id(), consumer, shared));
        link.attach_reader(&stream, &seat)?;
        // From here on the reader leaves its place when it is dropped.
        let reading = Reading::new(Arc::clone(link), Arc::clone(&stream), Arc::clone(&seat));
        stream.join(&seat, options.in_flight.get(), options.patterns)?;
        if link.status.over().is_some() {
            // The connection ended in between, perhaps before there was a reader to take away.
            link.broker.leave(&stream, &seat);
        }
        // Again, in case the permissions were replaced before it had its place.
        link.access.consume(&seat.consumer, shared)?;
        Ok(Incoming::new(reading))
    }
}
