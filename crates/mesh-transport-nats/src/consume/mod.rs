//! Reading a durable consumer: pushed by the server to one subject of its own, claimed one by one.

mod arriving;
mod keeper;
mod leaving;
mod reading;
mod settle;
mod unreadable;
mod verdicts;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use mesh_core::port::{
    ConsumeOptions, Deliveries, Delivery, Incoming, Operation, ReceiveError, TransportError,
};
use mesh_core::topology::ConsumerRef;
use tokio::sync::watch;

use crate::link::deadline;
use crate::port::Owner;

pub(crate) use reading::Reading;

/// Subscribes to the consumer's deliveries, and returns when the server sends them here.
pub(crate) async fn consume(
    owner: &Arc<Owner>,
    consumer: ConsumerRef,
    options: ConsumeOptions,
) -> Result<Deliveries, TransportError> {
    let link = owner.link();
    link.line.check_open(Operation::Consume)?;
    let due = deadline(options.timeout);
    let name = consumer.to_string();
    let reading = Arc::new(Reading::new(link, consumer, options));
    let (session, source) = loop {
        let session = link.line.session_for(Operation::Consume, &name, due).await?;
        reading.make_way(&session, due).await;
        match reading.open(&session, due).await {
            // Nothing was read yet, so the next session does as well.
            Err(error) if session.is_lost_by(&error, due).await => {}
            opened => break (session, opened?),
        }
    };
    reading.place(&session, source);
    link.remember(&reading);
    link.line.placed(reading.id, &session);
    let (reader, gone) = watch::channel(());
    link.line.runtime().spawn(keeper::keep(Arc::clone(link), Arc::clone(&reading), session, gone));
    Ok(Incoming::new(Reader { reading, owner: Arc::clone(owner), _reader: reader }))
}

/// The reader's end. Dropped, it leaves the consumer to others.
struct Reader {
    reading: Arc<Reading>,
    owner: Arc<Owner>,
    /// Dropped with the reader, which the keeper sees.
    _reader: watch::Sender<()>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.reading.leaves();
        self.owner.link().line.places().leaves(self.reading.id);
    }
}

impl Stream for Reader {
    type Item = Result<Delivery, ReceiveError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.reading.poll(context)
    }
}
