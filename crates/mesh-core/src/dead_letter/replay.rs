use super::{DeadLetter, DeadLetterError, headers};
use crate::message::{Message, names};
use crate::subject::{Subject, SubjectError};
use crate::topology::MeshSubject;

/// Why a dead letter can't be sent back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It is not a dead letter.
    #[error(transparent)]
    NotADeadLetter(#[from] DeadLetterError),
    /// What was given up is not an event.
    #[error("{0} is not an event's subject")]
    NotAnEvent(Subject),
    /// It is a reference only: body and headers did not fit, or were gone.
    #[error("only a reference to the event is left")]
    Reference,
    /// The event's names and the consumer's are too long together.
    #[error(transparent)]
    Subject(#[from] SubjectError),
}

impl DeadLetter {
    /// Sends a dead letter back to the consumer that failed and to nobody else:
    /// `mesh.replay.<consumer>.<module>.<event>`, with the event's own id, body and headers.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn replay(dead: &Message) -> Result<Message, ReplayError> {
        let letter = Self::parse(dead)?;
        let Some(subject) = letter.subject else {
            return Err(ReplayError::Reference);
        };
        let Ok(MeshSubject::Event { module, event }) = MeshSubject::parse(&subject) else {
            return Err(ReplayError::NotAnEvent(subject));
        };
        let id = names::EVENT_ID;
        let has_id = |(name, _): (&str, &str)| name.eq_ignore_ascii_case(id.as_str());
        if !dead.headers().iter().any(has_id) {
            return Err(ReplayError::Reference);
        }
        let replay = MeshSubject::Replay { consumer: letter.consumer.consumer, module, event };
        Ok(Message::new(replay.to_subject()?, dead.payload().clone())
            .with_headers(headers::application(dead)))
    }
}
