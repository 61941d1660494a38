use std::fmt::Write as _;
use std::io;

use super::wire::{Frame, broken};

/// What introduces headers.
const VERSION: &str = "NATS/1.0";

/// A message as it was on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RawMessage {
    /// Where it was published.
    pub subject: String,
    /// The number of the subscription, as [`RawNats::subscribe`](super::RawNats::subscribe) gave it.
    pub subscription: u64,
    /// Where an answer goes.
    pub reply: Option<String>,
    /// The status that a server gives its own messages: 503, if nobody listens.
    pub status: Option<u16>,
    /// Headers in their order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl RawMessage {
    /// The first value of this header, whose name is compared as it is.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Reads `MSG subject sid [reply] size` and `HMSG subject sid [reply] headers size`.
    pub(super) fn delivered(frame: &Frame) -> io::Result<Self> {
        let (verb, rest) = frame.split();
        let mut words: Vec<&str> = rest.split_whitespace().collect();
        words.pop();
        let headers = if verb == "HMSG" { words.pop() } else { Some("0") };
        let [subject, number, reply @ ..] = words.as_slice() else {
            return Err(broken("a message without a subscription"));
        };
        let mut message = Self::published(subject, reply.first().copied(), headers, frame)?;
        message.subscription =
            number.parse().map_err(|_| broken("a subscription without a number"))?;
        Ok(message)
    }

    /// The same without a subscription: what was published.
    pub(super) fn published(
        subject: &str,
        reply: Option<&str>,
        headers: Option<&str>,
        frame: &Frame,
    ) -> io::Result<Self> {
        let length = headers.and_then(|word| word.parse().ok());
        let (head, body) = length
            .and_then(|length: usize| frame.payload.split_at_checked(length))
            .ok_or_else(|| broken("headers are longer than their message"))?;
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default().strip_prefix(VERSION).unwrap_or_default();
        Ok(Self {
            subject: subject.to_owned(),
            subscription: 0,
            reply: reply.map(str::to_owned),
            status: first.split_whitespace().next().and_then(|word| word.parse().ok()),
            headers: lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect(),
            body: body.to_vec(),
        })
    }
}

/// `PUB` or, with headers, `HPUB`, exactly as given: nothing is checked or encoded.
pub(super) fn publication(
    subject: &str,
    reply: Option<&str>,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<u8> {
    let mut head = String::new();
    if !headers.is_empty() {
        head.push_str(VERSION);
        for (name, value) in headers {
            _ = write!(head, "\r\n{name}: {value}");
        }
        head.push_str("\r\n\r\n");
    }
    let reply = reply.map_or(String::new(), |reply| format!("{reply} "));
    let size = head.len() + body.len();
    let line = if head.is_empty() {
        format!("PUB {subject} {reply}{size}\r\n")
    } else {
        format!("HPUB {subject} {reply}{} {size}\r\n", head.len())
    };
    [line.as_bytes(), head.as_bytes(), body, b"\r\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(line: &str, payload: &str) -> io::Result<RawMessage> {
        RawMessage::delivered(&Frame { line: line.into(), payload: payload.into() })
    }

    #[test]
    fn deliveries_are_read_with_and_without_reply_and_headers() {
        let message = delivered("MSG a.b 7 2", "hi").unwrap();
        assert_eq!((message.subject.as_str(), message.subscription), ("a.b", 7));
        assert_eq!((message.reply, message.body.as_slice()), (None, &b"hi"[..]));
        let message =
            delivered("HMSG a 7 in.box 30 32", "NATS/1.0 503\r\nA: b\r\nC:d: e\r\n\r\n!!").unwrap();
        assert_eq!(message.reply.as_deref(), Some("in.box"));
        assert_eq!(message.status, Some(503));
        assert_eq!((message.header("A"), message.header("C")), (Some("b"), Some("d: e")));
        assert_eq!((message.header("a"), message.body.as_slice()), (None, &b"!!"[..]));
    }

    #[test]
    fn what_is_no_delivery_is_an_error() {
        assert!(delivered("MSG a 1", "x").is_err());
        assert!(delivered("MSG a x 1", "x").is_err());
        assert!(delivered("HMSG a 1 9 1", "x").is_err());
    }

    #[test]
    fn publications_say_their_sizes() {
        assert_eq!(publication("a", None, &[], b"hi"), b"PUB a 2\r\nhi\r\n");
        assert_eq!(
            publication("a", Some("r"), &[("K", "v")], b"hi"),
            b"HPUB a r 18 20\r\nNATS/1.0\r\nK: v\r\n\r\nhi\r\n"
        );
    }
}
