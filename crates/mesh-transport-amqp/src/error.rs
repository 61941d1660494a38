//! The client's errors as the port's.

use lapin::options::QueueDeclareOptions;
use lapin::protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError};
use mesh_core::port::{ErrorKind, Operation, TransportError};

/// The port's error for what the client or the broker said during `operation`.
pub(crate) fn failed(error: &lapin::Error, operation: Operation) -> TransportError {
    let (kind, detail) = read(error);
    let passes = matches!(error.kind(), lapin::ErrorKind::ChannelsLimitReached) || is_taken(error);
    let told = TransportError::new(kind, operation).detail(detail).caused_by(error.clone());
    if passes { told.retry(true) } else { told }
}

/// The kind of an error, and its words.
fn read(error: &lapin::Error) -> (ErrorKind, String) {
    use AMQPErrorKind::{Hard, Soft};
    let lapin::ErrorKind::ProtocolError(said) = error.kind() else {
        let kind = match error.kind() {
            lapin::ErrorKind::ChannelsLimitReached => ErrorKind::Broker,
            lapin::ErrorKind::SerialisationError(_)
            | lapin::ErrorKind::InvalidProtocolVersion(_) => ErrorKind::Invalid,
            // Whatever else goes wrong with a channel goes wrong with its connection.
            _ => ErrorKind::Disconnected,
        };
        return (kind, clipped(&error.to_string()));
    };
    let words = clipped(said.get_message().as_str());
    let kind = match said.kind() {
        Soft(AMQPSoftError::ACCESSREFUSED) if is_taken(error) => ErrorKind::Broker,
        Soft(AMQPSoftError::ACCESSREFUSED) | Hard(AMQPHardError::NOTALLOWED) => ErrorKind::Denied,
        Soft(AMQPSoftError::NOTFOUND) => ErrorKind::NotFound,
        Soft(AMQPSoftError::CONTENTTOOLARGE) => ErrorKind::TooLarge,
        Soft(AMQPSoftError::PRECONDITIONFAILED) if is_size(&words) => ErrorKind::TooLarge,
        // The connection goes with it, whoever's fault it is.
        Hard(_) => ErrorKind::Disconnected,
        _ => ErrorKind::Broker,
    };
    (kind, words)
}

/// Whether the broker means a queue that somebody else reads, and means to read alone.
fn is_taken(error: &lapin::Error) -> bool {
    let lapin::ErrorKind::ProtocolError(said) = error.kind() else { return false };
    said.get_message().as_str().ends_with("in exclusive use")
}

/// For a look at a queue, which needs no right and changes nothing.
pub(crate) fn passive() -> QueueDeclareOptions {
    QueueDeclareOptions { passive: true, ..Default::default() }
}

/// Whether the broker means a message that is larger than it takes.
fn is_size(words: &str) -> bool {
    words.contains("message size")
}

/// At most 256 characters, none of which moves a terminal's cursor: whoever answers may say anything.
pub(crate) fn clipped(text: &str) -> String {
    let safe = |char: char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char };
    text.chars().take(256).map(safe).collect()
}

/// The error of a call whose session ended under it.
pub(crate) fn lost(operation: Operation, cause: TransportError) -> TransportError {
    if cause.kind() == ErrorKind::Closed {
        return crate::link::closed(operation);
    }
    TransportError::new(ErrorKind::Disconnected, operation)
        .detail("the connection was lost before the broker's answer")
        .caused_by(cause)
}

/// The error of a call whose time ran out.
pub(crate) fn timed_out(operation: Operation) -> TransportError {
    TransportError::new(ErrorKind::TimedOut, operation)
}

#[cfg(test)]
mod tests {
    use lapin::protocol::AMQPError;

    use super::*;

    fn said(code: u16, words: &str) -> TransportError {
        let error = AMQPError::from_id(code, words.into()).unwrap();
        failed(&lapin::ErrorKind::ProtocolError(error).into(), Operation::Append)
    }

    #[test]
    fn the_brokers_codes_are_kinds_and_its_words_are_kept() {
        for (code, words, kind, passes) in [
            (403, "ACCESS_REFUSED - access to topic 'a'", ErrorKind::Denied, false),
            (
                403,
                "ACCESS_REFUSED - queue 'q' in vhost 'v' in exclusive use",
                ErrorKind::Broker,
                true,
            ),
            (404, "NOT_FOUND - no exchange 'x'", ErrorKind::NotFound, false),
            (311, "CONTENT_TOO_LARGE", ErrorKind::TooLarge, false),
            (
                406,
                "PRECONDITION_FAILED - message size 3 is larger than configured max size 2",
                ErrorKind::TooLarge,
                false,
            ),
            (406, "PRECONDITION_FAILED - inequivalent arg 'x'", ErrorKind::Broker, false),
            (320, "CONNECTION_FORCED - shutdown", ErrorKind::Disconnected, true),
            (530, "NOT_ALLOWED - no", ErrorKind::Denied, false),
            (541, "INTERNAL_ERROR", ErrorKind::Disconnected, true),
        ] {
            let told = said(code, words);
            assert_eq!((told.kind(), told.may_retry()), (kind, passes), "{told}");
            assert!(told.to_string().contains(words), "{told}");
        }
    }

    #[test]
    fn what_is_no_word_of_the_broker_is_a_lost_connection() {
        let io = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let lost = [io.into(), lapin::ErrorKind::MissingHeartbeatError.into()];
        for error in lost {
            assert_eq!(failed(&error, Operation::Append).kind(), ErrorKind::Disconnected);
        }
        let full = failed(&lapin::ErrorKind::ChannelsLimitReached.into(), Operation::Append);
        assert_eq!((full.kind(), full.may_retry()), (ErrorKind::Broker, true));
    }

    #[test]
    fn words_are_one_bounded_line() {
        assert_eq!(clipped("a\r\nb"), "a\u{fffd}\u{fffd}b");
        assert_eq!(clipped(&"é".repeat(300)).chars().count(), 256);
    }

    #[test]
    fn what_a_close_ended_is_closed() {
        let closed = crate::link::closed(Operation::Close);
        assert_eq!(lost(Operation::Append, closed).kind(), ErrorKind::Closed);
        let cut = TransportError::new(ErrorKind::Broker, Operation::Connect);
        assert_eq!(lost(Operation::Append, cut).kind(), ErrorKind::Disconnected);
    }
}
