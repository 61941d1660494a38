//! A queue that is read in one session.

use std::sync::Arc;

use lapin::options::BasicCancelOptions;
use lapin::types::{FieldTable, ShortString};
use lapin::{Channel, Consumer};
use mesh_core::port::{Operation, TransportError};
use tokio::time::Instant;

use crate::error::passive;
use crate::session::Session;

/// See the module. Dropped, it is left without a word of when.
#[derive(Debug)]
pub(crate) struct Spot {
    pub(crate) session: Arc<Session>,
    pub(crate) channel: Channel,
    pub(crate) consumer: Consumer,
    pub(crate) queue: ShortString,
}

impl Spot {
    /// Stops reading. A queue that is nobody else's is gone when this returns, and all that was on its way
    /// here has come.
    pub(crate) async fn leave(&self, operation: Operation, due: Instant) {
        let (tag, options) = (self.consumer.tag(), BasicCancelOptions::default());
        let leaving = self.channel.basic_cancel(tag, options);
        if let Err(error) = self.session.answered(operation, due, leaving).await {
            tracing::debug!(%error, queue = %self.queue, "a queue could not be left in good order");
        }
    }

    /// Returns when all has come that the queue had when this was called.
    ///
    /// The queue answers after what it gave before, and the channel answers the next question after that.
    /// A queue that has much gives it in portions.
    pub(crate) fn all_came(
        &self,
        operation: Operation,
        due: Instant,
    ) -> impl Future<Output = Result<(), TransportError>> + Send + use<> {
        let (channel, queue) = (self.channel.clone(), self.queue.clone());
        let session = Arc::clone(&self.session);
        async move {
            let looking = async {
                let look =
                    || channel.queue_declare(queue.clone(), passive(), FieldTable::default());
                while look().await?.message_count() > 0 {}
                look().await
            };
            session.answered(operation, due, looking).await.map(drop)
        }
    }
}
