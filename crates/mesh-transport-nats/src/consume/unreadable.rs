//! Work that the client library can't read. It ends the connection each time it comes, and a work queue
//! gives it again for ever, and nothing else meanwhile: one report of a hostile host would stop the control
//! queue. So who may ask the server's API, which is the controller, looks at it there, keeps it as a dead
//! letter and settles it unread (protocol §2).

#[cfg(test)]
mod tests;

use async_nats::{HeaderName, StatusCode, Subject};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use mesh_clock::SystemClock;
use mesh_core::dead_letter::{DeadLetter, DeadReason};
use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{AppendOptions, Clock, ErrorKind, Operation, Reason, TransportError};
use mesh_core::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

use super::Reading;
use super::settle::say;
use crate::append;
use crate::port::ask;
use crate::session::Session;

const OPERATION: Operation = Operation::Consume;

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    num_ack_pending: u64,
    delivered: Delivered,
}

#[derive(Deserialize)]
struct Delivered {
    consumer_seq: u64,
    stream_seq: u64,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    message: Option<Stored>,
}

#[derive(Deserialize)]
struct Stored {
    subject: String,
    time: String,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
}

impl Reading {
    /// Settles what the consumer gave last, if it is nowhere here and could not have been read. Does
    /// nothing where that can't be known: then reading goes on as if nothing were there.
    pub(super) async fn make_way(&self, session: &Session, due: Instant) {
        let controller = matches!(self.link.principal, Principal::Controller { .. });
        let one_for_ever = self.rules.max_deliver.is_none() && self.rules.max_ack_pending == 1;
        if !controller || !one_for_ever {
            return;
        }
        if let Err(error) = self.bury_unreadable(session, due).await {
            tracing::warn!(%error, consumer = %self.consumer, "what it gave last could not be looked at");
        }
    }

    async fn bury_unreadable(&self, session: &Session, due: Instant) -> Result<(), TransportError> {
        let (stream, consumer) = (self.consumer.stream, &self.consumer.consumer);
        let what = format!("CONSUMER.INFO.{stream}.{consumer}");
        let Some(info) = self.api::<Info>(session, &what, Vec::new(), due).await? else {
            return Ok(());
        };
        // With one claim at a time, what is owed is what was delivered last.
        let Delivered { consumer_seq, stream_seq } = info.delivered;
        if info.num_ack_pending == 0 || self.has(stream_seq) {
            return Ok(());
        }
        let body = json!({ "seq": stream_seq }).to_string().into_bytes();
        let what = format!("STREAM.MSG.GET.{stream}");
        let answer = self.api::<Answer>(session, &what, body, due).await?;
        let Some(stored) = answer.and_then(|answer| answer.message) else { return Ok(()) };
        let headers = STANDARD.decode(&stored.hdrs).map_err(|error| self.odd(error))?;
        if headers.is_empty() || is_readable(&headers) {
            return Ok(());
        }
        tracing::warn!(consumer = %self.consumer, sequence = stream_seq, subject = %stored.subject,
            "its headers can't be read: it is kept as a dead letter");
        self.keep_unread(stream_seq, &stored).await?;
        let address = Subject::from(self.prefix.of_unread(stream_seq, consumer_seq).as_str());
        say(session, OPERATION, address, Bytes::from_static(b"+TERM undecodable"), due).await
    }

    /// Appends it to the dead letters, with its body and without its headers.
    async fn keep_unread(&self, sequence: u64, stored: &Stored) -> Result<(), TransportError> {
        let body = STANDARD.decode(&stored.data).map_err(|error| self.odd(error))?;
        let subject = mesh_core::subject::Subject::new(stored.subject.as_str());
        let subject = subject.map_err(|error| self.odd(error))?;
        let appended: Timestamp = stored.time.parse().map_err(|error| self.odd(error))?;
        let letter = DeadLetter {
            subject: Some(subject.clone()),
            consumer: self.consumer.clone(),
            sequence: Some(sequence),
            deliveries: Some(1),
            reason: DeadReason::Undecodable,
            error: Some(Reason::new("its headers can't be read")),
            time: SystemClock::new().now(),
        };
        let id = letter.publish_id(appended);
        let message =
            letter.to_message(Some(&Message::new(subject, body)), self.link.capabilities.limits());
        let options = AppendOptions { id, ..AppendOptions::default() };
        // A duplicate is one that could not be settled the last time.
        append::append(&self.link, &message, &options).await.map(drop)
    }

    /// Whether this number is in the reader's hands, waits for it, or was settled by it.
    fn has(&self, sequence: u64) -> bool {
        let state = self.state.lock();
        let waiting = state.held.iter().filter_map(|held| held.message.reply.as_ref());
        let mut held = state.claims.values().chain(waiting);
        let own = |address: &Subject| {
            self.prefix.read(address).is_some_and(|numbers| numbers.stream_sequence == sequence)
        };
        held.any(own) || state.verdicts.addresses().any(|address| own(&address))
    }

    /// Asks the API; nothing where it answers with an error: then there is nothing to be looked at.
    async fn api<T: DeserializeOwned>(
        &self,
        session: &Session,
        what: &str,
        body: Vec<u8>,
        due: Instant,
    ) -> Result<Option<T>, TransportError> {
        let answer = ask(session, OPERATION, &format!("$JS.API.{what}"), body, due).await?;
        Ok(serde_json::from_slice(&answer).ok())
    }

    fn odd(&self, error: impl std::error::Error + Send + Sync + 'static) -> TransportError {
        TransportError::new(ErrorKind::Broker, OPERATION)
            .about(self.consumer.to_string())
            .detail(error.to_string())
            .caused_by(error)
    }
}

/// Whether the client library reads this block of headers: its own rules, step by step, since it has no
/// function for it. Where they say other than the library does, nothing is lost: what is readable is left
/// alone, and what is not read comes again.
fn is_readable(block: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(block) else { return false };
    let mut lines = text.lines().peekable();
    let Some(first) = lines.next().and_then(|line| line.strip_prefix("NATS/1.0")) else {
        return false;
    };
    let status = first.trim().split(' ').next().unwrap_or_default();
    if !status.is_empty() && status.parse::<StatusCode>().is_err() {
        return false;
    }
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        let Some((name, _)) = line.split_once(':') else { return false };
        if name.parse::<HeaderName>().is_err() {
            return false;
        }
        while lines.next_if(|line| line.starts_with(char::is_whitespace)).is_some() {}
    }
    true
}
