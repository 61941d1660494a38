//! Why an attempt to connect came to nothing.

use std::error::Error;
use std::io;

use lapin::protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError};
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_tls::{Refusals, TlsError};

use crate::error::{clipped, failed};
use crate::{AmqpOptions, OptionsError, Target};

/// What one attempt to connect is made with.
pub(super) struct Attempt<'a> {
    pub(super) target: &'a Target,
    pub(super) options: &'a AmqpOptions,
    pub(super) refusals: Refusals,
}

/// Why it came to nothing.
#[derive(Debug)]
pub(super) enum Failure {
    Options(OptionsError),
    Crypto(TlsError),
    /// The broker's name can't be looked up.
    Name(io::Error),
    Reach(io::Error),
    Tls(io::Error),
    Client(lapin::Error),
    TimedOut,
}

impl Attempt<'_> {
    /// The port's error for it.
    pub(super) fn failed(&self, failure: Failure) -> TransportError {
        if let Some(refusal) = self.refusals.last() {
            return self.error(ErrorKind::Denied, refusal.to_string()).caused_by(refusal);
        }
        match failure {
            Failure::Options(error) => {
                self.error(ErrorKind::Invalid, error.to_string()).caused_by(error)
            }
            Failure::Crypto(error) => {
                self.error(ErrorKind::Unsupported, error.to_string()).caused_by(error)
            }
            Failure::Name(error) => {
                let detail = format!("the name can't be looked up: {error}");
                self.error(ErrorKind::Disconnected, detail).caused_by(error)
            }
            Failure::Reach(error) => {
                self.error(ErrorKind::Disconnected, error.to_string()).caused_by(error)
            }
            Failure::Tls(error) => self.no_tls(error),
            Failure::TimedOut => self.timed_out(),
            Failure::Client(error) => self.refused(error),
        }
    }

    fn error(&self, kind: ErrorKind, detail: String) -> TransportError {
        TransportError::new(kind, Operation::Connect).about(self.target.to_string()).detail(detail)
    }

    fn timed_out(&self) -> TransportError {
        let waited = self.options.connect_timeout;
        let detail = if self.refusals.presented().is_some() {
            format!("the broker proved itself, but didn't let us in within {waited:?}")
        } else {
            format!("nothing came from the broker within {waited:?}")
        };
        self.error(ErrorKind::TimedOut, detail)
    }

    fn no_tls(&self, error: io::Error) -> TransportError {
        let told = match of_rustls(&error) {
            Some(rustls::Error::InvalidMessage(_)) => {
                let detail = "what answers there has no TLS; the log-in was not sent";
                self.error(ErrorKind::Denied, detail.to_owned())
            }
            Some(broken) => {
                let detail =
                    format!("no TLS: {}; the log-in was not sent", clipped(&broken.to_string()));
                self.error(ErrorKind::Denied, detail)
            }
            None => self.error(ErrorKind::Disconnected, clipped(&error.to_string())),
        };
        told.caused_by(error)
    }

    /// What was said to the log-in, or to the virtual host that was asked for.
    fn refused(&self, error: lapin::Error) -> TransportError {
        use AMQPErrorKind::{Hard, Soft};
        let told = failed(&error, Operation::Connect).about(self.target.to_string());
        let said = match error.kind() {
            lapin::ErrorKind::ProtocolError(said) => said,
            lapin::ErrorKind::ParsingError(_) | lapin::ErrorKind::InvalidProtocolVersion(_) => {
                let detail = format!("what answers there speaks no AMQP 0-9-1: {error}");
                return self.error(ErrorKind::Invalid, clipped(&detail)).caused_by(error);
            }
            _ => return told,
        };
        let words = clipped(said.get_message().as_str());
        match said.kind() {
            Soft(AMQPSoftError::ACCESSREFUSED) => {
                let who = self.target.login().user();
                let detail = format!("the broker refused the log-in of {who:?}: {words}");
                self.error(ErrorKind::Denied, detail).caused_by(error)
            }
            Hard(AMQPHardError::NOTALLOWED) if words.ends_with("not found") => {
                self.error(ErrorKind::NotFound, words).caused_by(error)
            }
            // Others may leave, and a virtual host may come up again.
            Hard(AMQPHardError::NOTALLOWED)
                if words.contains("limit") || words.ends_with("is down") =>
            {
                self.error(ErrorKind::Broker, words).retry(true).caused_by(error)
            }
            _ => told,
        }
    }
}

/// What rustls found, inside an error of a stream.
fn of_rustls(error: &io::Error) -> Option<rustls::Error> {
    let mut next: Option<&(dyn Error + 'static)> = error.get_ref().map(|inner| inner as _);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found.clone());
        }
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}
