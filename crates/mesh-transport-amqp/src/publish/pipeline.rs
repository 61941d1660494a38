use std::sync::Arc;

use lapin::options::ConfirmSelectOptions;
use mesh_core::port::{Operation, TransportError};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::flight::Line;
use crate::error::failed;
use crate::wire::Wire;

/// The channel where many messages wait for their confirmation. One that was closed is replaced.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    current: Mutex<Option<Arc<Line>>>,
    /// Held by whoever opens the next.
    opening: tokio::sync::Mutex<()>,
}

impl Pipeline {
    /// The channel as it is now.
    pub(super) async fn line(
        &self,
        wire: &Wire,
        operation: Operation,
        due: Instant,
    ) -> Result<Arc<Line>, TransportError> {
        match self.standing() {
            Some(line) => Ok(line),
            None => Box::pin(self.opened(wire, operation, due)).await,
        }
    }

    async fn opened(
        &self,
        wire: &Wire,
        operation: Operation,
        due: Instant,
    ) -> Result<Arc<Line>, TransportError> {
        let _opening = self.opening.lock().await;
        if let Some(line) = self.standing() {
            return Ok(line);
        }
        let line = confirming(wire, operation, due).await?;
        *self.current.lock() = Some(Arc::clone(&line));
        Ok(line)
    }

    fn standing(&self) -> Option<Arc<Line>> {
        self.current.lock().clone().filter(|line| line.stands())
    }
}

/// A new channel in confirm mode.
pub(super) async fn confirming(
    wire: &Wire,
    operation: Operation,
    due: Instant,
) -> Result<Arc<Line>, TransportError> {
    let channel = wire.channel(operation, due).await?;
    let selecting = channel.confirm_select(ConfirmSelectOptions::default());
    selecting.await.map_err(|error| failed(&error, operation))?;
    Ok(Line::new(channel))
}
