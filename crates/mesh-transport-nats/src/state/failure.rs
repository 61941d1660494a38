//! What the connection and the server say, as the port of stores says it.

use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::store::{StoreError, StoreErrorKind};

use crate::api_error::{ApiError, Malformed, api_error, malformed};

/// Of what a connection says.
pub(super) fn of(error: TransportError) -> StoreError {
    let kind = match error.kind() {
        ErrorKind::Full => StoreErrorKind::Full,
        ErrorKind::TooLarge => StoreErrorKind::TooLarge,
        ErrorKind::TimedOut
        | ErrorKind::Closed
        | ErrorKind::Disconnected
        | ErrorKind::NoResponders => StoreErrorKind::Unavailable,
        ErrorKind::Broker if error.may_retry() => StoreErrorKind::Unavailable,
        _ => StoreErrorKind::Other,
    };
    StoreError::new(kind, error.to_string()).caused_by(error)
}

/// Of what the server refuses.
pub(crate) fn refused(operation: Operation, about: &str, refused: &ApiError) -> StoreError {
    of(api_error(operation, about, refused))
}

/// Of an answer that can't be understood.
pub(crate) fn unclear(operation: Operation, about: &str, problem: Malformed) -> StoreError {
    of(malformed(operation, about, problem))
}

pub(super) fn unavailable(detail: &'static str) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, detail)
}
