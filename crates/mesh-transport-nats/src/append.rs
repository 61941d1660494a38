//! Appending: confirmed by the stream, retried with the same id until the time is over.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_MESSAGE_ID, NATS_ROLLUP};
use async_nats::message::OutboundMessage;
use async_nats::{HeaderMap, StatusCode, Subject};
use mesh_core::message::Message;
use mesh_core::port::{AppendOptions, Appended, ErrorKind, Operation, TransportError};
use mesh_core::topology::{MeshSubject, StreamName};
use tokio::time::Instant;

use crate::api_error::{api_error, malformed};
use crate::convert;
use crate::link::{Link, deadline};
use crate::pending::Outcome;
use crate::pub_ack::{NoAck, PubAck, pub_ack};
use crate::session::{Op, Session, denied};

const OPERATION: Operation = Operation::Append;
/// Between two tries where no stream answers: its leader may be on its way.
const AGAIN: Duration = Duration::from_millis(100);
/// How often a subject is tried that no stream has ever taken.
const TRIES_OF_UNKNOWN: u32 = 3;

/// Appends `message`; returns when the stream has it.
pub(crate) async fn append(
    link: &Arc<Link>,
    message: &Message,
    options: &AppendOptions,
) -> Result<Appended, TransportError> {
    let due = deadline(options.timeout);
    let subject = message.subject();
    let timed_out = || TransportError::new(ErrorKind::TimedOut, OPERATION).about(subject);
    let _place = match link.window.try_acquire() {
        Ok(place) => place,
        Err(_) => tokio::time::timeout_at(due, link.window.acquire())
            .await
            .map_err(|_| timed_out().detail("too many appends wait for their confirmation"))?
            .map_err(|_| crate::link::closed(OPERATION))?,
    };
    let own = Own::of(options);
    let mut unanswered = 0;
    // Whether an earlier try may have been stored: what is a duplicate then is this very append.
    let mut doubtful = false;
    loop {
        let session = link.session(OPERATION, due).await?;
        match attempt(&session, message, &own, due).await? {
            Answered::Stored(appended) => {
                let duplicate = appended.duplicate && !doubtful;
                return Ok(Appended { duplicate, ..appended });
            }
            Answered::Lost(cause) => {
                doubtful = true;
                if Instant::now() >= due {
                    return Err(crate::publish::lost(OPERATION, subject.as_str(), cause));
                }
            }
            Answered::NoStream => {
                unanswered += 1;
                if session.pending.known(subject.as_str()).is_none()
                    && unanswered >= TRIES_OF_UNKNOWN
                {
                    return Err(TransportError::new(ErrorKind::NotFound, OPERATION)
                        .about(subject)
                        .detail("no stream takes this subject, or its server is away"));
                }
                if tokio::time::timeout_at(due, tokio::time::sleep(AGAIN)).await.is_err() {
                    return Err(timed_out().detail("the stream has no leader"));
                }
            }
        }
    }
}

enum Answered {
    Stored(Appended),
    /// Nobody listens on the subject.
    NoStream,
    Lost(TransportError),
}

async fn attempt(
    session: &Session,
    message: &Message,
    own: &Own<'_>,
    due: Instant,
) -> Result<Answered, TransportError> {
    let (subject, known) = session.subject(message.subject().as_str());
    let (op, reply) = Op::asking(OPERATION, &subject, &session.confirmations);
    let op = Op { known, ..op };
    let headers = own.headers(message);
    let message = OutboundMessage {
        subject: subject.clone(),
        reply: Some(reply),
        payload: message.payload().clone(),
        headers: Some(headers),
    };
    let hand = || session.send(OPERATION, &subject, message);
    match session.operate(op, due, hand).await? {
        Outcome::Answer(answer) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
            Ok(Answered::NoStream)
        }
        Outcome::Answer(answer) => {
            let appended = confirmed(&subject, &answer.payload)?;
            if !known {
                session.pending.learn(&subject);
            }
            Ok(Answered::Stored(appended))
        }
        Outcome::Denied(words) => Err(denied(OPERATION, &subject, words)),
        Outcome::Lost(cause) => Ok(Answered::Lost(cause)),
        Outcome::Handled => Ok(Answered::NoStream),
    }
}

/// Reads the stream's word.
fn confirmed(subject: &Subject, payload: &[u8]) -> Result<Appended, TransportError> {
    match pub_ack(payload) {
        Ok(PubAck { stream, seq, duplicate }) => {
            Ok(Appended { stream, sequence: Some(seq), duplicate })
        }
        Err(NoAck::Refused(refused)) => Err(api_error(OPERATION, subject, &refused)),
        Err(NoAck::Malformed(problem)) => Err(malformed(OPERATION, subject, problem)),
    }
}

/// The headers by which the stream goes.
struct Own<'a> {
    id: Cow<'a, str>,
    options: &'a AppendOptions,
}

impl<'a> Own<'a> {
    fn of(options: &'a AppendOptions) -> Self {
        // Without an id of the caller's, one of our own: a retry must not store it twice.
        let id = match &options.id {
            Some(id) => Cow::Borrowed(id.as_str()),
            None => Cow::Owned(format!("{:032x}", rand::random::<u128>())),
        };
        Self { id, options }
    }

    fn headers(&self, message: &Message) -> HeaderMap {
        let mut headers = convert::headers_out(message.headers());
        headers.insert(NATS_MESSAGE_ID, &*self.id);
        if let Some(expected) = self.options.expected_last {
            headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, expected.to_string());
        }
        if MeshSubject::stream_of(message.subject()) == Some(StreamName::Nodes) {
            headers.insert(NATS_ROLLUP, "sub");
        }
        headers
    }
}
