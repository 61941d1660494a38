//! Addresses that are made and not named: inboxes, acknowledgements, delivery subjects (protocol §4).

use std::fmt;

use super::shape::{Shape, shape};
use super::{ConsumerRef, StreamName};
use crate::identity::Principal;
use crate::identity::Responder;
use crate::name::ConsumerName;
use crate::provision::is_reserved_tool;
use crate::subject::{Filter, Subject};

/// Why a text is not an address of the kind asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Not an inbox of six tokens `_INBOX.<a>.<b>.<responder>.<random>`.
    #[error("not a reply address")]
    NotAReply,
    /// A reply address that names another responder.
    #[error("a reply address that names another responder")]
    OtherResponder,
    /// A reply address of somebody who may not ask this.
    #[error("a reply address of somebody who may not ask this")]
    OtherCaller,
    /// Not `$JS.ACK.…` in either form.
    #[error("not an acknowledgement address")]
    NotAnAck,
    /// Not below an inbox of the mesh, or nothing that it is used for.
    #[error("not an address in an inbox of the mesh")]
    NotAnInbox,
    /// Not the subject of a notice about a consumer of the mesh.
    #[error("not a notice about a consumer of the mesh")]
    NotANotice,
    /// Not `mesh.deliver.<stream>.<consumer>`.
    #[error("not a delivery subject")]
    NotADelivery,
}

/// The inbox of a principal: `_INBOX.<principal>.<node or name>`, below which alone it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbox(String);

impl Inbox {
    /// The inbox of `principal`.
    #[must_use]
    pub fn of(principal: &Principal) -> Self {
        let (kind, name) = principal.inbox_tokens();
        Self(format!("_INBOX.{kind}.{name}"))
    }

    /// Everything below it: what the principal may subscribe to.
    #[must_use]
    pub fn filter(&self) -> Filter {
        Filter::from_checked(format!("{}.>", self.0))
    }

    /// Where the answer of `responder` to one request goes; `random` makes it unguessable.
    #[must_use]
    pub fn reply(&self, responder: &Responder, random: u128) -> Subject {
        Subject::from_checked(format!("{}.{}.{random:032x}", self.0, responder.as_str()))
    }

    /// Where the broker confirms an append or answers its API.
    #[must_use]
    pub fn confirmation(&self, random: u128) -> Subject {
        Subject::from_checked(format!("{}.ack.{random:032x}", self.0))
    }

    /// What the principal sends itself, to learn that all before it was handled.
    #[must_use]
    pub fn echo(&self, random: u128) -> Subject {
        Subject::from_checked(format!("{}.echo.{random:032x}", self.0))
    }

    /// Whether `reply` is an address at which a transport waits for the broker's own word, a
    /// [`confirmation`](Self::confirmation) or an [`echo`](Self::echo), and so is nothing that a
    /// receiver may answer to.
    ///
    /// ```
    /// use mesh_core::subject::Subject;
    /// use mesh_core::topology::Inbox;
    ///
    /// assert!(Inbox::is_transports(&Subject::new("_INBOX.mail.n1.echo.0a")?));
    /// assert!(!Inbox::is_transports(&Subject::new("_INBOX.mail.n1.vault.0a")?));
    /// # Ok::<(), mesh_core::subject::SubjectError>(())
    /// ```
    #[must_use]
    pub fn is_transports(reply: &Subject) -> bool {
        let mut tokens = reply.tokens();
        tokens.next() == Some("_INBOX") && matches!(tokens.nth(2), Some("ack" | "echo"))
    }

    /// Whether a reply address is one that only a broker itself hands out: what is answered there would
    /// acknowledge, or reach another account (protocol §4). Nobody sends one, whatever the broker.
    ///
    /// ```
    /// use mesh_core::subject::Subject;
    /// use mesh_core::topology::Inbox;
    ///
    /// assert!(Inbox::is_brokers(&Subject::new("$JS.ACK.EVENTS.n1_mail.1.1.1.0.0")?));
    /// assert!(!Inbox::is_brokers(&Subject::new("_INBOX.mail.n1.vault.0a")?));
    /// # Ok::<(), mesh_core::subject::SubjectError>(())
    /// ```
    #[must_use]
    pub fn is_brokers(reply: &Subject) -> bool {
        ["$JS.ACK.", "_R_."].iter().any(|prefix| reply.as_str().starts_with(prefix))
            || Self::is_between_clusters(reply)
    }

    /// Whether a subject is one that nats-servers use between clusters: no client publishes there or names
    /// it as its reply address, whatever its rights.
    #[must_use]
    pub fn is_between_clusters(subject: &Subject) -> bool {
        ["_GR_.", "$GR."].iter().any(|prefix| subject.as_str().starts_with(prefix))
    }

    /// Every echo: what the principal may publish in its own inbox.
    #[must_use]
    pub fn echo_filter(&self) -> Filter {
        Filter::from_checked(format!("{}.echo.>", self.0))
    }
}

impl fmt::Display for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A reply address that a responder may answer to: `_INBOX.<caller>.<its node or name>.<responder>.<random>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyAddress(Subject);

impl ReplyAddress {
    /// Accepts `reply` only if it is an inbox address that names `responder`, nobody's `ack` or
    /// `echo`, and of whom the subject `asked` lets ask: what a node asks is answered to that node's
    /// host, what only the controller calls to the controller. Beyond that it says nothing about who
    /// asks.
    ///
    /// # Errors
    /// [`AddressError::NotAReply`], [`AddressError::OtherResponder`] or [`AddressError::OtherCaller`].
    pub fn check(
        asked: &Subject,
        reply: &Subject,
        responder: &Responder,
    ) -> Result<Self, AddressError> {
        let (caller, name, named) = read_reply(reply.as_str()).ok_or(AddressError::NotAReply)?;
        if named != responder.as_str() {
            return Err(AddressError::OtherResponder);
        }
        let may_ask = match shape(asked.as_str()) {
            Some(Shape::Ask(node, _)) => caller == "host" && name == node,
            Some(Shape::Tool(_, tool)) if is_reserved_tool(tool) => caller == "controller",
            _ => true,
        };
        if !may_ask {
            return Err(AddressError::OtherCaller);
        }
        Ok(Self(reply.clone()))
    }

    /// Everything that `responder` may answer to.
    #[must_use]
    pub fn filter(responder: &Responder) -> Filter {
        Filter::from_checked(format!("_INBOX.*.*.{}.>", responder.as_str()))
    }

    /// The address.
    #[must_use]
    pub fn subject(&self) -> &Subject {
        &self.0
    }
}

/// Caller, its node or name, and responder of `_INBOX.<caller>.<node or name>.<responder>.<random>`.
fn read_reply(text: &str) -> Option<(&str, &str, &str)> {
    let (names, random) = text.split_at_checked(text.len().checked_sub(32)?)?;
    // In numbers rather than truth values, and without a branch at each digit: they are random.
    let odd = |b: u8| u8::from(b.wrapping_sub(b'0') > 9) & u8::from(b.wrapping_sub(b'a') > 5);
    let hex = random.bytes().fold(0, |odds, b| odds | odd(b)) == 0;
    let (caller, rest) = names.strip_prefix("_INBOX.")?.split_once('.')?;
    let (name, named) = rest.strip_suffix('.')?.split_once('.')?;
    let whose = is_label(caller) && is_label(name) && !named.contains('.');
    (hex && whose && !matches!(named, "ack" | "echo")).then_some((caller, name, named))
}

fn is_label(token: &str) -> bool {
    !token.is_empty()
        && token.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Where the deliveries of a durable consumer arrive: `mesh.deliver.<stream>.<consumer>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliverySubject(ConsumerRef);

impl DeliverySubject {
    /// That of `consumer`.
    #[must_use]
    pub fn of(consumer: ConsumerRef) -> Self {
        Self(consumer)
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`AddressError::NotADelivery`].
    pub fn parse(subject: &Subject) -> Result<Self, AddressError> {
        let rest = subject.as_str().strip_prefix("mesh.deliver.");
        let parsed = rest.and_then(|rest| rest.split_once('.')).and_then(|(stream, consumer)| {
            let stream = StreamName::from_name(stream)?;
            Some(ConsumerRef::new(stream, ConsumerName::new(consumer).ok()?))
        });
        parsed.map(Self).ok_or(AddressError::NotADelivery)
    }

    /// The consumer.
    #[must_use]
    pub fn consumer(&self) -> &ConsumerRef {
        &self.0
    }

    /// As text.
    #[must_use]
    pub fn to_subject(&self) -> Subject {
        let ConsumerRef { stream, consumer } = &self.0;
        Subject::from_checked(format!("mesh.deliver.{stream}.{consumer}"))
    }
}

/// Everything that the server's own API listens to: what the controller alone may publish, and what
/// [`Administration`](crate::port::Administration) takes (protocol §4).
#[must_use]
pub fn api_filter() -> Filter {
    Filter::from_checked("$JS.API.>".to_owned())
}
