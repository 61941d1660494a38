//! Appending: confirmed by the stream, retried with the same id until the time is over.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{StatusCode, Subject};
use mesh_core::message::Message;
use mesh_core::port::{AppendOptions, Appended, ErrorKind, Operation, TransportError};
use mesh_core::topology::{MeshSubject, StreamName};
use tokio::time::Instant;

use crate::api_error::{api_error, malformed};
use crate::link::{Link, deadline};
use crate::pending::{Kind, Outcome};
use crate::pub_ack::{NoAck, PubAck, pub_ack};
use crate::publish::hand_over;
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
    let subject = Subject::from(message.subject().as_str());
    let timed_out = || TransportError::new(ErrorKind::TimedOut, OPERATION).about(&subject);
    let window = tokio::time::timeout_at(due, link.window.acquire()).await;
    let _place = window
        .map_err(|_| timed_out().detail("too many appends wait for their confirmation"))?
        .map_err(|_| crate::link::closed(OPERATION))?;
    let headers = Own::of(message, options);
    let mut unanswered = 0;
    // Whether an earlier try may have been stored: what is a duplicate then is this very append.
    let mut doubtful = false;
    loop {
        let session = link.session(OPERATION, due).await?;
        match attempt(&session, &subject, message, &headers, due).await? {
            Answered::Stored(appended) => {
                session.pending.learn(&subject);
                let duplicate = appended.duplicate && !doubtful;
                return Ok(Appended { duplicate, ..appended });
            }
            Answered::Lost(cause) => {
                doubtful = true;
                if Instant::now() >= due {
                    return Err(crate::publish::lost(OPERATION, &subject, cause));
                }
            }
            Answered::NoStream => {
                unanswered += 1;
                if !session.pending.knows(&subject) && unanswered >= TRIES_OF_UNKNOWN {
                    return Err(TransportError::new(ErrorKind::NotFound, OPERATION)
                        .about(&subject)
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
    subject: &Subject,
    message: &Message,
    headers: &Own,
    due: Instant,
) -> Result<Answered, TransportError> {
    let key = rand::random();
    let reply = Subject::from(session.inbox().confirmation(key).as_str());
    let op = Op {
        reply: Some(reply.clone()),
        answer: Some(key),
        ..Op::new(OPERATION, Kind::Publish, subject)
    };
    let own = headers.list();
    let send = || hand_over(session, OPERATION, subject, Some(reply), message, &own);
    match session.operate(op, due, send).await? {
        Outcome::Answer(answer) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
            Ok(Answered::NoStream)
        }
        Outcome::Answer(answer) => confirmed(subject, &answer.payload).map(Answered::Stored),
        Outcome::Denied(words) => Err(denied(OPERATION, subject, words)),
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
struct Own {
    id: String,
    expected: Option<String>,
    newest: bool,
}

impl Own {
    fn of(message: &Message, options: &AppendOptions) -> Self {
        // Without an id of the caller's, one of our own: a retry must not store it twice.
        let id = match &options.id {
            Some(id) => id.as_str().to_owned(),
            None => format!("{:032x}", rand::random::<u128>()),
        };
        let channel = MeshSubject::parse(message.subject());
        let newest = channel.is_ok_and(|channel| channel.stream() == Some(StreamName::Nodes));
        Self { id, expected: options.expected_last.map(|last| last.to_string()), newest }
    }

    fn list(&self) -> Vec<(&'static str, &str)> {
        let mut list = vec![("Nats-Msg-Id", self.id.as_str())];
        if let Some(expected) = &self.expected {
            list.push(("Nats-Expected-Last-Subject-Sequence", expected));
        }
        if self.newest {
            list.push(("Nats-Rollup", "sub"));
        }
        list
    }
}
