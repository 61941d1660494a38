//! Reading a durable consumer: its queues, on one channel, claimed one by one.
//!
//! What came stays with the broker until it is settled on the very channel that it came on. When that
//! channel is lost, so are its claims: everything comes again, and a verdict that is said too late says so.

mod acks;
mod arrival;
mod dead;
mod doubt;
mod keeper;
mod leaving;
mod reading;
mod seat;
mod settle;
mod state;

#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use mesh_core::port::{
    ConsumeOptions, Deliveries, Delivery, Incoming, Operation, ReceiveError, TransportError,
};
use mesh_core::topology::ConsumerRef;
use tokio::sync::{oneshot, watch};

use crate::link::{deadline, runtime_ended};
use crate::port::Owner;

use keeper::Keeper;
use reading::Reading;

/// Reads the consumer's queues, and returns when the broker delivers. Given up midway, they are left again.
pub(crate) async fn consume(
    owner: &Arc<Owner>,
    consumer: ConsumerRef,
    options: ConsumeOptions,
) -> Result<Deliveries, TransportError> {
    let link = owner.link();
    link.line.check_open(Operation::Consume)?;
    let due = deadline(options.timeout);
    let session = link.line.session(Operation::Consume, due).await?;
    let reading = Arc::new(Reading::new(link, consumer, options));
    link.line.placed(reading.id, &session);
    let (there, gone) = watch::channel(());
    let reader = Reader { reading: Arc::clone(&reading), owner: Arc::clone(owner), _there: there };
    let (told, placed) = oneshot::channel();
    link.line.runtime().spawn(Keeper::new(link, &reading, gone).run(session, due, told));
    placed.await.unwrap_or_else(|_| Err(runtime_ended(Operation::Consume)))?;
    Ok(Incoming::new(reader))
}

/// The reader's end. Dropped, it leaves the consumer to others.
struct Reader {
    reading: Arc<Reading>,
    owner: Arc<Owner>,
    /// Dropped with the reader, which the keeper sees.
    _there: watch::Sender<()>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.owner.link().line.places().leaves(self.reading.id);
    }
}

impl Stream for Reader {
    type Item = Result<Delivery, ReceiveError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.reading.poll(context)
    }
}
