use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::message::MessageProblem;

/// What went wrong with a call on a port: which kind, whether to try again, what was being done,
/// on which subject, and the cause below it.
#[derive(Clone)]
pub struct TransportError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    operation: Operation,
    subject: Option<Arc<str>>,
    detail: Cow<'static, str>,
    may_retry: bool,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The broker does not let this connection do that.
    Denied,
    /// Nobody receives there: an absent tool, an unroutable message.
    NoResponders,
    /// The time given ran out.
    TimedOut,
    /// Payload or headers exceed a limit.
    TooLarge,
    /// This connection was closed by its owner.
    Closed,
    /// The connection to the broker is lost.
    Disconnected,
    /// The transport does not give this guarantee.
    Unsupported,
    /// The call itself makes no sense; it will never work.
    Invalid,
    /// The stream, consumer or queue is not there.
    NotFound,
    /// The expected sequence is not the last.
    Conflict,
    /// The stream is full and keeps what it has.
    Full,
    /// Anything else that the broker refuses.
    Broker,
}

impl ErrorKind {
    /// For programs: the kind's name, as OpenTelemetry's `error.type` has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::NoResponders => "no_responders",
            Self::TimedOut => "timed_out",
            Self::TooLarge => "too_large",
            Self::Closed => "closed",
            Self::Disconnected => "disconnected",
            Self::Unsupported => "unsupported",
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Full => "full",
            Self::Broker => "broker",
        }
    }

    /// Whether the same call may work a little later.
    const fn may_pass(self) -> bool {
        matches!(self, Self::TimedOut | Self::NoResponders | Self::Disconnected | Self::Full)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Denied => "denied",
            Self::NoResponders => "nobody receives there",
            Self::TimedOut => "timed out",
            Self::TooLarge => "too large",
            Self::Closed => "connection closed",
            Self::Disconnected => "disconnected",
            Self::Unsupported => "not supported by this transport",
            Self::Invalid => "invalid",
            Self::NotFound => "not found",
            Self::Conflict => "conflict",
            Self::Full => "stream full",
            Self::Broker => "refused by the broker",
        })
    }
}

/// What was being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the method of that name")]
pub enum Operation {
    Connect,
    Publish,
    Subscribe,
    Flush,
    Close,
    Append,
    Consume,
    Settle,
    Progress,
    Request,
    Serve,
    Answer,
    Assert,
    Read,
    Inspect,
    Retire,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::Publish => "publish",
            Self::Subscribe => "subscribe",
            Self::Flush => "flush",
            Self::Close => "close",
            Self::Append => "append",
            Self::Consume => "consume",
            Self::Settle => "settle",
            Self::Progress => "progress",
            Self::Request => "request",
            Self::Serve => "serve",
            Self::Answer => "answer",
            Self::Assert => "assert",
            Self::Read => "read",
            Self::Inspect => "inspect",
            Self::Retire => "retire",
        })
    }
}

impl TransportError {
    /// An error of this kind; whether a retry may help follows from the kind.
    #[must_use]
    pub fn new(kind: ErrorKind, operation: Operation) -> Self {
        Self(Box::new(Inner {
            kind,
            operation,
            subject: None,
            detail: Cow::Borrowed(""),
            may_retry: kind.may_pass(),
            source: None,
        }))
    }

    /// Names the subject, filter or object it was about.
    #[must_use]
    pub fn about(mut self, subject: impl AsRef<str>) -> Self {
        self.0.subject = Some(Arc::from(subject.as_ref()));
        self
    }

    /// Adds what a person needs to know beyond the kind. Never a secret.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.0.detail = detail.into();
        self
    }

    /// Says whether a retry may help, where the kind alone would say otherwise.
    #[must_use]
    pub fn retry(mut self, may_help: bool) -> Self {
        self.0.may_retry = may_help;
        self
    }

    /// Attaches the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// For a message that [`Message::check`](crate::message::Message::check) refused.
    #[must_use]
    pub fn of_message(problem: MessageProblem, operation: Operation, subject: &str) -> Self {
        let kind = if problem.is_size() { ErrorKind::TooLarge } else { ErrorKind::Invalid };
        Self::new(kind, operation).about(subject).detail(problem.to_string()).caused_by(problem)
    }

    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was being done.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.0.operation
    }

    /// The subject, filter or object it was about.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.0.subject.as_deref()
    }

    /// Whether the same call may work a little later.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        self.0.may_retry
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.operation)?;
        if let Some(subject) = &self.0.subject {
            write!(f, " {subject}")?;
        }
        write!(f, ": {}", self.0.kind)?;
        if !self.0.detail.is_empty() {
            write!(f, " ({})", self.0.detail)?;
        }
        Ok(())
    }
}

impl fmt::Debug for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportError")
            .field("kind", &self.0.kind)
            .field("operation", &self.0.operation)
            .field("subject", &self.0.subject)
            .field("detail", &self.0.detail)
            .field("may_retry", &self.0.may_retry)
            .field("source", &self.0.source)
            .finish()
    }
}

impl Error for TransportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
