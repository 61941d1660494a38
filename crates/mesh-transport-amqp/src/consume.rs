//! Durable deliveries.

use std::sync::Arc;

use mesh_core::port::{ConsumeOptions, Deliveries, ErrorKind, Operation, TransportError};
use mesh_core::topology::ConsumerRef;

use crate::port::Owner;

/// Reads a durable consumer.
pub(crate) async fn consume(
    owner: &Arc<Owner>,
    consumer: ConsumerRef,
    _options: ConsumeOptions,
) -> Result<Deliveries, TransportError> {
    owner.link().check_open(Operation::Consume)?;
    Err(TransportError::new(ErrorKind::Unsupported, Operation::Consume).about(consumer.to_string()))
}
