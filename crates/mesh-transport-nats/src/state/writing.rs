//! One message for each writing and removal, confirmed, sent again where the confirmation is lost, and found
//! again where the server says that something else stands there.

use std::time::Duration;

use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_MESSAGE_ID, NATS_MESSAGE_TTL};
use async_nats::message::OutboundMessage;
use async_nats::{HeaderMap, StatusCode, Subject};
use bytes::Bytes;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::store::{Revision, StoreError, StoreKey};
use tokio::time::Instant;

use super::bucket::NatsBucket;
use super::failure;
use super::looking::{Found, OPERATION};
use crate::api_error::{ApiError, Malformed};
use crate::counters::count;
use crate::link::deadline;
use crate::pending::Outcome;
use crate::pub_ack::{Ack, ack};
use crate::session::{Op, Session, denied};

const APPEND: Operation = Operation::Append;
/// Between two tries where the stream can't take it: its leader may be on its way.
const AGAIN: Duration = Duration::from_millis(100);
/// How long one try waits for its confirmation.
const TRY: Duration = Duration::from_secs(2);
/// The lifetime of the notice that an entry was removed.
const NOTICE: u64 = 1;

/// What is to be stored under a key.
pub(super) enum What {
    Value(Bytes, Duration),
    Removal,
}

/// What became of it.
pub(super) enum Fate {
    Stored(Revision),
    /// Something else is stored there: this.
    Otherwise(Option<Found>),
}

/// Stores it if the last number under the key is `last`; zero: if nothing is stored there.
pub(super) async fn store(
    bucket: &NatsBucket,
    key: &StoreKey,
    what: &What,
    last: Option<Revision>,
    writing: &mut Writing,
) -> Result<Fate, StoreError> {
    let link = bucket.state.owner.link();
    let subject = bucket.address.entry(key);
    let timed_out = || TransportError::new(ErrorKind::TimedOut, APPEND).about(&subject);
    let window = tokio::time::timeout_at(writing.due, link.window.acquire()).await;
    let _place = window
        .map_err(|_| failure::of(timed_out().detail("too many writings wait")))?
        .map_err(|_| failure::of(crate::link::closed(APPEND)))?;
    loop {
        let session = link.line.session_for(APPEND, subject.as_str(), writing.due).await;
        let session = session.map_err(failure::of)?;
        if writing.doubtful {
            count(&link.counters.resent);
        }
        let message = writing.message(&subject, what, last);
        let failed = match attempt(&session, message, writing.due).await.map_err(failure::of)? {
            Answered::Ack(Ack { stream, seq, duplicate }) => {
                if *stream != *bucket.stream {
                    let problem = Malformed::Content("it names another stream");
                    return Err(failure::unclear(APPEND, subject.as_str(), problem));
                }
                if duplicate && !writing.doubtful {
                    let problem = Malformed::Content("a new writing is called a repeated one");
                    return Err(failure::unclear(APPEND, subject.as_str(), problem));
                }
                bucket.tell(Revision(seq));
                return Ok(Fate::Stored(Revision(seq)));
            }
            Answered::Otherwise => {
                let found = bucket.last(key, writing.due).await?;
                return match found {
                    Some(found) if found.id.as_deref() == Some(&*writing.id) => {
                        Ok(Fate::Stored(found.revision))
                    }
                    found => Ok(Fate::Otherwise(found)),
                };
            }
            Answered::NoWord(error) => {
                writing.doubtful = true;
                if Instant::now() < writing.due {
                    continue;
                }
                return Err(failure::of(error));
            }
            Answered::NotNow(error) => error,
        };
        if Instant::now() + AGAIN >= writing.due {
            return Err(failure::of(failed));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// One writing, through all its tries: by its id the server, and we, know it again.
pub(super) struct Writing {
    id: String,
    pub(super) due: Instant,
    /// An earlier try may have been stored.
    pub(super) doubtful: bool,
}

impl Writing {
    pub(super) fn begin(timeout: Duration) -> Self {
        let id = format!("{:032x}", rand::random::<u128>());
        Self { id, due: deadline(timeout), doubtful: false }
    }

    fn message(
        &self,
        subject: &mesh_core::subject::Subject,
        what: &What,
        last: Option<Revision>,
    ) -> OutboundMessage {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, &*self.id);
        if let Some(Revision(last)) = last {
            headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, last.to_string());
        }
        let (payload, seconds) = match what {
            What::Value(value, lifetime) => (value.clone(), seconds(*lifetime)),
            What::Removal => {
                headers.insert(OPERATION, "DEL");
                (Bytes::new(), NOTICE)
            }
        };
        headers.insert(NATS_MESSAGE_TTL, format!("{seconds}s"));
        let subject = Subject::from(subject.as_str());
        OutboundMessage { subject, reply: None, payload, headers: Some(headers) }
    }
}

/// In whole seconds, rounded up: the server takes nothing finer, and no less than one. A hundred years are
/// as good as for ever.
pub(super) fn seconds(lifetime: Duration) -> u64 {
    let whole = lifetime.as_secs().saturating_add(u64::from(lifetime.subsec_nanos() > 0));
    whole.clamp(1, 100 * 365 * 24 * 3600)
}

enum Answered {
    Ack(Ack),
    /// Another number is the last under this subject.
    Otherwise,
    /// The stream can't take it now.
    NotNow(TransportError),
    /// Whether it was stored is not known.
    NoWord(TransportError),
}

async fn attempt(
    session: &Session,
    message: OutboundMessage,
    due: Instant,
) -> Result<Answered, TransportError> {
    let (subject, known) = session.subject(message.subject.as_str());
    let (op, reply) = Op::asking(APPEND, &subject, &session.confirmations);
    let op = Op { known, ..op };
    let message = OutboundMessage { reply: Some(reply), ..message };
    let hand = || session.send(APPEND, &subject, message);
    let absent = || {
        let error = TransportError::new(ErrorKind::NoResponders, APPEND).about(&subject);
        Ok(Answered::NotNow(error.detail("nobody answers for the bucket").retry(true)))
    };
    match session.operate(op, due.min(deadline(TRY)), hand).await {
        Ok(Outcome::Answer(answer)) if answer.status == Some(StatusCode::NO_RESPONDERS) => absent(),
        Ok(Outcome::Answer(answer)) => confirmed(&subject, &answer.payload),
        Ok(Outcome::Handled) => absent(),
        Ok(Outcome::Denied(words)) => Err(denied(APPEND, &subject, words)),
        Ok(Outcome::Lost(cause)) => {
            Ok(Answered::NoWord(crate::publish::lost(APPEND, &subject, cause)))
        }
        Err(error) if matches!(error.kind(), ErrorKind::Disconnected | ErrorKind::TimedOut) => {
            Ok(Answered::NoWord(error))
        }
        Err(error) => Err(error),
    }
}

/// Reads the stream's word.
fn confirmed(subject: &Subject, payload: &[u8]) -> Result<Answered, TransportError> {
    use crate::api_error::{api_error, malformed};
    use crate::pub_ack::NoAck;

    match ack(payload) {
        Ok(ack) => Ok(Answered::Ack(ack)),
        Err(NoAck::Refused(ApiError { err_code: 10071 | 10164, .. })) => Ok(Answered::Otherwise),
        Err(NoAck::Refused(refused)) => {
            let error = api_error(APPEND, subject, &refused);
            if error.kind() == ErrorKind::Broker && error.may_retry() {
                return Ok(Answered::NotNow(error));
            }
            Err(error)
        }
        Err(NoAck::Malformed(problem)) => Err(malformed(APPEND, subject, problem)),
    }
}
