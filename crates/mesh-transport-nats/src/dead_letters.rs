//! Dead letters (protocol §2): the server says that a consumer gave an event up, in a notice without
//! its body; the controller reads the event and keeps it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::dead_letter::{DeadLetter, DeadReason};
use mesh_core::message::Message;
use mesh_core::name::ConsumerName;
use mesh_core::port::{
    Administration, AppendOptions, Connection, ConsumeOptions, Deliveries, Delivery, ErrorKind,
    Operation, Position, Reason, ReceiveError, Streams, TransportError,
};
use mesh_core::time::Timestamp;
use mesh_core::topology::{Advisory, AdvisoryKind, ConsumerRef, StreamName};
use serde::Deserialize;
use tokio::sync::watch;

/// The pause before a notice is tried again whose dead letter could not be stored.
const AGAIN: Duration = Duration::from_secs(1);

/// Turns the server's notices into dead letters for as long as it lives. Each controller has one.
pub struct DeadLetterKeeper {
    ended: watch::Receiver<Option<TransportError>>,
    /// Dropped with this, which the task sees.
    _alive: watch::Sender<()>,
}

impl DeadLetterKeeper {
    /// Begins. `controller` is a connection of the controller; `epoch` is the mesh's, which makes ids of
    /// dead letters differ from those of a stream that was made anew.
    ///
    /// # Errors
    /// Those of [`Streams::consume`] for the notices' consumer, and `Unsupported` for a connection that
    /// is not the controller's.
    pub async fn start(controller: &Connection, epoch: Timestamp) -> Result<Self, TransportError> {
        let consumer = ConsumerRef::new(
            StreamName::Advisories,
            ConsumerName::new("controller").map_err(|error| {
                TransportError::new(ErrorKind::Invalid, Operation::Consume).caused_by(error)
            })?,
        );
        let keeper = Keeper {
            administration: Arc::clone(controller.administration()?),
            streams: Arc::clone(controller.streams()?),
            connection: controller.clone(),
            epoch,
        };
        let notices = keeper.streams.consume(consumer, ConsumeOptions::default()).await?;
        let (end, ended) = watch::channel(None);
        let (alive, gone) = watch::channel(());
        tokio::spawn(async move {
            let error = keeper.run(notices, gone).await;
            if let Some(error) = &error {
                tracing::error!(%error, "dead letters are no longer kept");
            }
            end.send_replace(error);
        });
        Ok(Self { ended, _alive: alive })
    }

    /// Returns when notices can no longer be read, with the reason, or nothing if the connection was
    /// closed.
    pub async fn ended(&mut self) -> Option<TransportError> {
        // The task keeps the sender to its end.
        while self.ended.changed().await.is_ok() {}
        self.ended.borrow().clone()
    }
}

impl fmt::Debug for DeadLetterKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = self.ended.borrow();
        f.debug_struct("DeadLetterKeeper").field("ended", &*ended).finish_non_exhaustive()
    }
}

struct Keeper {
    administration: Arc<dyn Administration>,
    streams: Arc<dyn Streams>,
    connection: Connection,
    epoch: Timestamp,
}

impl Keeper {
    async fn run(
        &self,
        mut notices: Deliveries,
        mut gone: watch::Receiver<()>,
    ) -> Option<TransportError> {
        loop {
            let arrival = tokio::select! {
                arrival = notices.next() => arrival?,
                _ = gone.changed() => return None,
            };
            match arrival {
                Ok(notice) => self.settle(notice).await,
                Err(ReceiveError::Ended(error)) => return Some(error),
                Err(word) => tracing::warn!(%word, "of the notices"),
            }
        }
    }

    /// Settles one notice: it never stays, and never without its dead letter or a word in the log.
    async fn settle(&self, notice: Delivery) {
        let settled = match Notice::read(notice.message()) {
            Err(problem) => {
                tracing::error!(subject = %notice.message().subject(), problem, "a notice was refused");
                notice.ack().await
            }
            Ok(said) => match self.keep(&said).await {
                Ok(()) => notice.ack().await,
                Err(error) if error.may_retry() => {
                    tracing::warn!(%error, consumer = %said.consumer, sequence = said.sequence,
                        "a dead letter could not be stored yet");
                    notice.nak(Some(AGAIN)).await
                }
                Err(error) => {
                    tracing::error!(%error, consumer = %said.consumer, sequence = said.sequence,
                        "a dead letter could not be stored");
                    notice.ack().await
                }
            },
        };
        if let Err(error) = settled {
            tracing::warn!(%error, "a notice could not be settled; it comes again");
        }
    }

    async fn keep(&self, said: &Notice) -> Result<(), TransportError> {
        let position = Position::Sequence(said.sequence);
        let (original, reason, error) =
            match self.administration.read(said.consumer.stream, position).await {
                Ok(Some(stored)) => (Some(stored.message), said.reason, said.error.clone()),
                Ok(None) => (None, DeadReason::AgedOut, said.error.clone()),
                // It is there, and no message of the mesh can be like that: its consumer could not read
                // it either. The stream has it for whoever looks after it.
                Err(error) if error.kind() == ErrorKind::Broker && !error.may_retry() => {
                    (None, DeadReason::Undecodable, Some(Reason::new(error.to_string())))
                }
                Err(error) => return Err(error),
            };
        let letter = DeadLetter {
            subject: original.as_ref().map(|message| message.subject().clone()),
            consumer: said.consumer.clone(),
            sequence: Some(said.sequence),
            deliveries: Some(said.deliveries),
            reason,
            error,
            time: self.connection.clock().now(),
        };
        let id = letter.publish_id(self.epoch);
        let limits = self.connection.transport().capabilities().limits();
        let whole = letter.to_message(original.as_ref(), limits);
        let options = AppendOptions { id, ..AppendOptions::default() };
        match self.streams.append(whole, options.clone()).await {
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                let reference = letter.to_message(None, limits);
                self.streams.append(reference, options).await.map(drop)
            }
            // A duplicate is a notice that came twice.
            stored => stored.map(drop),
        }
    }
}

/// What a notice says.
#[derive(Debug)]
struct Notice {
    consumer: ConsumerRef,
    sequence: u64,
    deliveries: u64,
    reason: DeadReason,
    error: Option<Reason>,
}

#[derive(Deserialize)]
struct Body {
    stream: String,
    consumer: String,
    stream_seq: u64,
    deliveries: u64,
    #[serde(default)]
    reason: Option<String>,
}

impl Notice {
    /// Reads one. The consumer is that of the subject, which the server chose, and must be the body's too.
    fn read(message: &Message) -> Result<Self, &'static str> {
        let Advisory { kind, consumer } =
            Advisory::parse(message.subject()).map_err(|_| "not the subject of a notice")?;
        let body: Body = serde_json::from_slice(message.payload())
            .map_err(|_| "the body is none of a notice")?;
        if body.stream != consumer.stream.as_str() || body.consumer != consumer.consumer.as_str() {
            return Err("subject and body name different consumers");
        }
        let (reason, error) = match (kind, body.reason) {
            (AdvisoryKind::MaxDeliveries, _) => (DeadReason::MaxDeliver, None),
            (AdvisoryKind::Terminated, reason) => {
                let reason = Reason::new(reason.unwrap_or_default());
                (reason.kind(), (!reason.as_str().is_empty()).then_some(reason))
            }
            _ => return Err("another kind of notice"),
        };
        Ok(Self { consumer, sequence: body.stream_seq, deliveries: body.deliveries, reason, error })
    }
}

#[cfg(test)]
mod tests {
    use mesh_core::subject::Subject;

    use super::*;

    fn notice(subject: &str, body: &str) -> Result<Notice, &'static str> {
        let subject = Subject::new(format!("$JS.EVENT.ADVISORY.CONSUMER.{subject}")).unwrap();
        Notice::read(&Message::new(subject, body.to_owned()))
    }

    const BODY: &str = r#"{"stream":"EVENTS","consumer":"n1_mail","stream_seq":7,"deliveries":5,"reason":"undecodable: x"}"#;

    #[test]
    fn a_notice_names_consumer_sequence_and_reason() {
        let said = notice("MAX_DELIVERIES.EVENTS.n1_mail", BODY).unwrap();
        assert_eq!((said.sequence, said.deliveries), (7, 5));
        assert_eq!(said.reason, DeadReason::MaxDeliver);
        let said = notice("MSG_TERMINATED.EVENTS.n1_mail", BODY).unwrap();
        assert_eq!(said.reason, DeadReason::Undecodable);
        assert_eq!(said.error.unwrap().as_str(), "undecodable: x");
    }

    #[test]
    fn a_notice_whose_body_names_another_consumer_is_refused() {
        assert!(notice("MAX_DELIVERIES.EVENTS.n1_crm", BODY).is_err());
        assert!(notice("MAX_DELIVERIES.NODES.n1_mail", BODY).is_err());
        assert!(notice("MAX_DELIVERIES.EVENTS.n1_mail.x", BODY).is_err());
        assert!(notice("MAX_DELIVERIES.EVENTS.n1_mail", "{}").is_err());
        assert!(notice("DELETED.EVENTS.n1_mail", BODY).is_err());
    }
}
