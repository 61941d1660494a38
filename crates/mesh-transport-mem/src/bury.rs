use mesh_core::dead_letter::DeadLetter;
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::topology::StreamName;

use crate::broker::Broker;
use crate::live::deliver_now;
use crate::space::Space;
use crate::stream::{Append, Burial};

impl Broker {
    /// Appends what a consumer gave up to the dead letters, in the controller's stead. Until that
    /// has worked the consumer keeps it, and tries again later.
    pub(crate) fn bury(&self, burial: Burial) {
        let Some(stream) = self.stream(burial.consumer.stream) else {
            return;
        };
        let Burial { consumer, instance, sequence, deliveries, message, reason, error } = burial;
        let consumer_name = consumer.consumer.clone();
        let letter = DeadLetter {
            subject: message.as_ref().map(|message| message.subject().clone()),
            consumer,
            sequence: Some(sequence),
            deliveries: Some(deliveries.into()),
            reason,
            error,
            time: self.clock.now(),
        };
        let done = match self.post(&letter, message.as_ref()) {
            Ok(()) => true,
            Err(error) => {
                let consumer = consumer_name.as_str();
                tracing::warn!(consumer, sequence, %error, "a dead letter could not be stored");
                false
            }
        };
        let now = self.clock.monotonic();
        self.run(stream.buried(&consumer_name, instance, sequence, done, now));
    }

    fn post(&self, letter: &DeadLetter, original: Option<&Message>) -> Result<(), TransportError> {
        let Some(stream) = self.stream(StreamName::EventsDead) else {
            // Nobody keeps dead letters in this mesh.
            return Ok(());
        };
        let id = letter.publish_id(self.epoch);
        let append = Append { id: id.as_ref(), expected_last: None, operation: Operation::Append };
        let mut message = letter.to_message(original, self.capabilities.limits());
        let mut kept = self.keep(&stream, &message, append);
        if matches!(&kept, Err(error) if error.kind() == ErrorKind::TooLarge) {
            message = letter.to_message(None, self.capabilities.limits());
            kept = self.keep(&stream, &message, append);
        }
        if !kept?.duplicate {
            // The controller, which does that on a real mesh, is beside the streams.
            let route = self.hub.route(Space::Bus, message.subject());
            deliver_now(&route, &message, None);
        }
        Ok(())
    }
}
