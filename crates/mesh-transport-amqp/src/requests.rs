//! Questions with one answer.

use std::sync::Arc;

use mesh_core::identity::Responder;
use mesh_core::message::Message;
use mesh_core::port::{Calls, ErrorKind, Operation, ServeOptions, TransportError};
use mesh_core::subject::Filter;
use tokio::time::Instant;

use crate::link::Link;
use crate::port::Owner;

/// Asks, and waits for the answer.
pub(crate) async fn ask(
    _link: &Arc<Link>,
    _responder: &Responder,
    message: &Message,
    _due: Instant,
) -> Result<Message, TransportError> {
    Err(TransportError::new(ErrorKind::Unsupported, Operation::Request).about(message.subject()))
}

/// Takes calls.
pub(crate) async fn serve(
    _owner: &Arc<Owner>,
    filter: Filter,
    _options: ServeOptions,
) -> Result<Calls, TransportError> {
    Err(TransportError::new(ErrorKind::Unsupported, Operation::Serve).about(filter))
}
