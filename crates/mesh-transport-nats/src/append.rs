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

use crate::absence::{Absence, FOR_A_CALL};
use crate::api_error::{api_error, malformed};
use crate::convert;
use crate::counters::count;
use crate::link::{Link, deadline};
use crate::pending::Outcome;
use crate::pub_ack::{NoAck, PubAck, pub_ack};
use crate::session::{Op, Session, denied};

const OPERATION: Operation = Operation::Append;
/// Between two tries where no stream answers, or one that can't take it: its leader may be on its way.
const AGAIN: Duration = Duration::from_millis(100);
/// How long one try waits for its confirmation.
const TRY: Duration = Duration::from_secs(2);

/// Appends `message`; returns when the stream has it.
pub(crate) async fn append(
    link: &Arc<Link>,
    message: &Message,
    options: &AppendOptions,
) -> Result<Appended, TransportError> {
    let under_way = link.line.accepted().begin();
    under_way.end(stored(link, message, options).await)
}

async fn stored(
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
    let stream = MeshSubject::stream_of(subject);
    let own = Own::of(options, stream);
    let mut absence = Absence::default();
    // Whether an earlier try may have been stored: what is a duplicate then is this very append.
    let mut doubtful = false;
    loop {
        let session = link.line.session_for(OPERATION, subject.as_str(), due).await?;
        if doubtful {
            count(&link.counters.resent);
        }
        let failed = match attempt(&session, message, &own, due).await? {
            Answered::Stored(appended) => {
                link.streams.lock().insert(appended.stream);
                let duplicate = appended.duplicate && !doubtful;
                return Ok(Appended { duplicate, ..appended });
            }
            Answered::NoWord(error) => {
                doubtful = true;
                if Instant::now() < due {
                    continue;
                }
                return Err(error);
            }
            Answered::NotNow(error) => error,
            Answered::NoStream => {
                let is_final = absence.is_final(&session, FOR_A_CALL);
                let known = session.retires()
                    || stream.is_some_and(|stream| link.streams.lock().contains(&stream));
                let absent = TransportError::new(ErrorKind::NotFound, OPERATION)
                    .about(subject)
                    .detail("no stream takes this subject");
                match (known, is_final) {
                    (true, _) => timed_out().detail("nobody answers for the stream any more"),
                    (false, true) => return Err(absent),
                    (false, false) => absent.retry(true),
                }
            }
        };
        if Instant::now() + AGAIN >= due {
            return Err(failed);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

enum Answered {
    Stored(Appended),
    /// Nobody listens on the subject.
    NoStream,
    /// The stream can't take it now.
    NotNow(TransportError),
    /// Whether it was stored is not known.
    NoWord(TransportError),
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
    // A confirmation is lost with its stream's leader, though this connection stands.
    match session.operate(op, due.min(deadline(TRY)), hand).await {
        Ok(Outcome::Answer(answer)) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
            Ok(Answered::NoStream)
        }
        Ok(Outcome::Answer(answer)) => match confirmed(&subject, &answer.payload) {
            Ok(appended) => {
                if !known {
                    session.pending.learn(&subject);
                }
                Ok(Answered::Stored(appended))
            }
            Err(error) if error.kind() == ErrorKind::Broker && error.may_retry() => {
                Ok(Answered::NotNow(error))
            }
            Err(error) => Err(error),
        },
        Ok(Outcome::Denied(words)) => Err(denied(OPERATION, &subject, words)),
        Ok(Outcome::Lost(cause)) => {
            Ok(Answered::NoWord(crate::publish::lost(OPERATION, &subject, cause)))
        }
        Ok(Outcome::Handled) => Ok(Answered::NoStream),
        Err(error) if matches!(error.kind(), ErrorKind::Disconnected | ErrorKind::TimedOut) => {
            Ok(Answered::NoWord(error))
        }
        Err(error) => Err(error),
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
    newest: bool,
}

impl<'a> Own<'a> {
    fn of(options: &'a AppendOptions, stream: Option<StreamName>) -> Self {
        // Without an id of the caller's, one of our own: a retry must not store it twice.
        let id = match &options.id {
            Some(id) => Cow::Borrowed(id.as_str()),
            None => Cow::Owned(format!("{:032x}", rand::random::<u128>())),
        };
        Self { id, options, newest: stream == Some(StreamName::Nodes) }
    }

    fn headers(&self, message: &Message) -> HeaderMap {
        let mut headers = convert::headers_out(message.headers());
        headers.insert(NATS_MESSAGE_ID, &*self.id);
        if let Some(expected) = self.options.expected_last {
            headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, expected.to_string());
        }
        if self.newest {
            headers.insert(NATS_ROLLUP, "sub");
        }
        headers
    }
}
