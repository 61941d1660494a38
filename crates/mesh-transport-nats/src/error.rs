//! The client's errors as the port's.

use std::error::Error;
use std::io;

use async_nats::{
    ConnectError, ConnectErrorKind, PublishError, PublishErrorKind, ServerError, SubscribeError,
    SubscribeErrorKind,
};
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_tls::{Refusals, TlsError};

use crate::dial::VersionError;
use crate::events::Notice;
use crate::{NatsOptions, OptionsError, Target};

#[cfg(test)]
mod tests;

/// What one attempt to connect was made with.
pub(crate) struct Attempt<'a> {
    pub target: &'a Target,
    pub options: &'a NatsOptions,
    pub refusals: Refusals,
}

/// Why an attempt came to nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    Options(OptionsError),
    Tls(TlsError),
    /// The target is none that the client can read.
    Address(io::Error),
    /// The server's name can't be looked up.
    Name(io::Error),
    TimedOut,
    /// The client library panicked.
    Panicked,
    Connect(ConnectError),
    Version(VersionError),
}

impl Attempt<'_> {
    /// The port's error for it.
    pub(crate) fn failed(&self, failure: Failure) -> TransportError {
        // The client says no more than "IO error" where our verifier knows.
        if let Some(refusal) = self.refusals.last() {
            return self.error(ErrorKind::Denied, refusal.to_string()).caused_by(refusal);
        }
        match failure {
            Failure::Options(error) => {
                self.error(ErrorKind::Invalid, error.to_string()).caused_by(error)
            }
            Failure::Tls(error) => {
                self.error(ErrorKind::Unsupported, error.to_string()).caused_by(error)
            }
            Failure::Version(error) => {
                self.error(ErrorKind::Unsupported, error.to_string()).caused_by(error)
            }
            Failure::Address(error) => {
                self.error(ErrorKind::Invalid, error.to_string()).caused_by(error)
            }
            Failure::Name(error) => {
                let detail = format!("the name can't be looked up: {error}");
                self.error(ErrorKind::Disconnected, detail).caused_by(error)
            }
            Failure::TimedOut => self.timed_out(),
            Failure::Panicked => {
                let detail = "what answers there speaks like no nats-server".to_owned();
                self.error(ErrorKind::Disconnected, detail)
            }
            Failure::Connect(error) => self.refused(error),
        }
    }

    fn error(&self, kind: ErrorKind, detail: String) -> TransportError {
        TransportError::new(kind, Operation::Connect).about(self.target.to_string()).detail(detail)
    }

    fn timed_out(&self) -> TransportError {
        let waited = self.options.connect_timeout;
        let detail = if self.refusals.presented().is_some() {
            format!(
                "the server proved itself, but didn't answer the log-in within {waited:?}; after a \
                 restart it has many to check"
            )
        } else if self.target.pinned().is_none() || self.options.tls_first {
            format!("nothing came from the server within {waited:?}")
        } else {
            format!(
                "nothing came from the server within {waited:?}: it is out of reach, or it expects \
                 TLS first and the option tls_first is not set"
            )
        };
        self.error(ErrorKind::TimedOut, detail)
    }

    fn refused(&self, error: ConnectError) -> TransportError {
        let failed = match error.kind() {
            ConnectErrorKind::TimedOut => self.timed_out(),
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                let who = self.target.principal();
                self.error(ErrorKind::Denied, format!("the server refused the log-in of {who}"))
            }
            ConnectErrorKind::ServerParse => self.error(ErrorKind::Invalid, error.to_string()),
            ConnectErrorKind::Tls => self.no_tls(&error),
            ConnectErrorKind::Dns | ConnectErrorKind::Io | ConnectErrorKind::MaxReconnects => {
                self.broken(&error)
            }
        };
        failed.caused_by(error)
    }

    /// The client's own TLS can't begin.
    fn no_tls(&self, error: &ConnectError) -> TransportError {
        let Some(cause) = find::<io::Error>(error) else {
            return self.error(ErrorKind::Invalid, clipped(&error.to_string()));
        };
        let variables: Vec<_> = ["SSL_CERT_FILE", "SSL_CERT_DIR"]
            .iter()
            .filter_map(|name| Some(format!("{name} is {:?}", std::env::var_os(name)?)))
            .collect();
        let variables = match variables.as_slice() {
            [] => String::new(),
            set => format!("; {}: unset it, or name what exists", set.join(" and ")),
        };
        let detail = format!(
            "the NATS client insists on reading the machine's CA bundle, though only the pinned \
             certificate counts: {}{variables}",
            clipped(&cause.to_string()),
        );
        self.error(ErrorKind::Invalid, detail)
    }

    fn broken(&self, error: &ConnectError) -> TransportError {
        if let Some(ServerError::Other(text)) = find(error) {
            let (kind, passes) = match Notice::parse(text) {
                Notice::Expired | Notice::Revoked => (ErrorKind::Denied, false),
                Notice::TooLate => (ErrorKind::TimedOut, true),
                Notice::MaximumConnections => (ErrorKind::Broker, true),
                _ => (ErrorKind::Broker, false),
            };
            return self.error(kind, format!("the server says: {}", clipped(text))).retry(passes);
        }
        let detail = match find::<rustls::Error>(error) {
            None => return self.error(ErrorKind::Disconnected, clipped(&error.to_string())),
            Some(rustls::Error::InvalidMessage(_)) if self.options.tls_first => {
                "what answers there doesn't begin with TLS, and the option tls_first is set; the \
                 log-in was not sent"
                    .to_owned()
            }
            Some(rustls::Error::InvalidMessage(_)) => {
                "what answers there has no TLS; the log-in was not sent".to_owned()
            }
            Some(broken) => format!("no TLS: {}", clipped(&broken.to_string())),
        };
        self.error(ErrorKind::Denied, detail)
    }
}

/// At most 256 characters, none of which moves a terminal's cursor: whoever answers may say anything.
fn clipped(text: &str) -> String {
    let safe = |char: char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char };
    text.chars().take(256).map(safe).collect()
}

/// The first cause of this type. `io::Error` hides its own from `source`.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

/// For a failed publish of the client.
pub(crate) fn publish_error(
    error: PublishError,
    operation: Operation,
    subject: &str,
) -> TransportError {
    let kind = match error.kind() {
        PublishErrorKind::MaxPayloadExceeded => ErrorKind::TooLarge,
        PublishErrorKind::InvalidSubject => ErrorKind::Invalid,
        PublishErrorKind::Send => ErrorKind::Disconnected,
    };
    TransportError::new(kind, operation).about(subject).detail(error.to_string()).caused_by(error)
}

/// For a failed subscribe of the client.
pub(crate) fn subscribe_error(
    error: SubscribeError,
    operation: Operation,
    filter: &str,
) -> TransportError {
    let kind = match error.kind() {
        SubscribeErrorKind::InvalidSubject | SubscribeErrorKind::InvalidQueueName => {
            ErrorKind::Invalid
        }
        SubscribeErrorKind::Other => ErrorKind::Disconnected,
    };
    TransportError::new(kind, operation).about(filter).detail(error.to_string()).caused_by(error)
}
