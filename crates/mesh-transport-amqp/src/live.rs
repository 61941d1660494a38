//! Live messages that are heard.

use std::sync::Arc;

use mesh_core::port::{ErrorKind, Operation, SubscribeOptions, Subscription, TransportError};
use mesh_core::subject::Filter;

use crate::port::Owner;

/// Listens from now on.
pub(crate) async fn subscribe(
    owner: &Arc<Owner>,
    filter: Filter,
    _options: SubscribeOptions,
) -> Result<Subscription, TransportError> {
    owner.link().check_open(Operation::Subscribe)?;
    Err(TransportError::new(ErrorKind::Unsupported, Operation::Subscribe).about(filter))
}
