//! One stored message, by `$JS.API.STREAM.MSG.GET` and never by direct get (protocol §2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mesh_core::message::{Headers, Message};
use mesh_core::port::{ErrorKind, Operation, Position, Stored, TransportError};
use mesh_core::subject::Subject;
use mesh_core::time::Timestamp;
use mesh_core::topology::StreamName;
use serde::Deserialize;
use serde_json::json;

use super::Admin;
use super::header_block;
use crate::api::Api;
use crate::api_error::{ApiError, Malformed, api_error, malformed};

#[derive(Deserialize)]
struct Answer {
    message: Raw,
}

#[derive(Deserialize)]
struct Raw {
    subject: String,
    seq: u64,
    /// A block of headers in base64.
    #[serde(default)]
    hdrs: Option<String>,
    /// The body in base64; left out if it is empty.
    #[serde(default)]
    data: Option<String>,
    time: String,
}

impl<A: Api> Admin<A> {
    pub(super) async fn read_stored(
        &self,
        stream: StreamName,
        position: &Position,
    ) -> Result<Option<Stored>, TransportError> {
        let about = stream.as_str();
        let body = match position {
            // The server takes 0 for nothing asked. No message has that number, or this.
            Position::Sequence(0) => json!({ "seq": u64::MAX }),
            Position::Sequence(sequence) => json!({ "seq": sequence }),
            Position::LastOf(subject) => json!({ "last_by_subj": subject.as_str() }),
        };
        let subject = format!("$JS.API.STREAM.MSG.GET.{stream}");
        match self.look::<Answer>(Operation::Read, about, &subject, Some(body)).await? {
            Ok(Answer { message }) => stored(about, message, position).map(Some),
            Err(ApiError { err_code: ApiError::NO_MESSAGE_FOUND, .. }) => Ok(None),
            Err(refused) => Err(api_error(Operation::Read, about, &refused)),
        }
    }
}

fn stored(about: &str, raw: Raw, position: &Position) -> Result<Stored, TransportError> {
    let odd = |what| malformed(Operation::Read, about, Malformed::Content(what));
    let is_asked_for = match position {
        Position::Sequence(sequence) => raw.seq == *sequence,
        Position::LastOf(subject) => raw.subject == subject.as_str(),
    };
    if !is_asked_for {
        return Err(odd("it has another message than was asked for"));
    }
    let bytes = |text: Option<String>| STANDARD.decode(text.unwrap_or_default());
    let payload = bytes(raw.data).map_err(|_| odd("the body is not base64"))?;
    let block = bytes(raw.hdrs).map_err(|_| odd("the headers are not base64"))?;
    let time: Timestamp = raw.time.parse().map_err(|_| odd("the time is not RFC 3339"))?;
    let headers = if block.is_empty() {
        Headers::default()
    } else {
        header_block::parse(&block).map_err(|problem| unreadable(about, raw.seq, problem))?
    };
    let subject = Subject::new(raw.subject).map_err(|p| unreadable(about, raw.seq, p))?;
    let message = Message::new(subject, payload).with_headers(headers);
    Ok(Stored { sequence: raw.seq, time, message })
}

/// A message that is there, and that no message of the mesh can be.
fn unreadable(
    about: &str,
    sequence: u64,
    problem: impl std::error::Error + Send + Sync + 'static,
) -> TransportError {
    TransportError::new(ErrorKind::Broker, Operation::Read)
        .about(about)
        .detail(format!("message {sequence}: {problem}"))
        .caused_by(problem)
}
