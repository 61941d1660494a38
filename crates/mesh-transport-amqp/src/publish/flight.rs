use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use lapin::options::BasicPublishOptions;
use lapin::{Channel, Confirmation};
use parking_lot::Mutex;

use super::{Confirmed, Outgoing};
use crate::error::clipped;

/// A channel in confirm mode. Two messages that are handed over on it take turns: the client numbers a
/// message before it queues it, and would mix up the confirmations of two that come between each other.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) channel: Channel,
    turn: Mutex<()>,
    runtime: tokio::runtime::Handle,
}

impl Line {
    pub(super) fn new(channel: Channel) -> Arc<Self> {
        let runtime = tokio::runtime::Handle::current();
        Arc::new(Self { channel, turn: Mutex::new(()), runtime })
    }

    /// Whether anything can be sent on it.
    pub(super) fn stands(&self) -> bool {
        self.channel.status().connected()
    }
}

/// A message on its way to its confirmation. Once it was looked at it goes on, also when nobody waits for it
/// any more: the client keeps a confirmation that is dropped for as long as the channel lives.
pub(super) struct Flight {
    /// Nothing once it is over.
    work: Option<BoxFuture<'static, lapin::Result<Confirmed>>>,
    line: Arc<Line>,
    begun: bool,
}

impl Flight {
    /// Goes on `line`. When it has landed, `landed` is told whether the broker said something of it.
    pub(super) fn new(
        line: &Arc<Line>,
        outgoing: Outgoing,
        landed: impl FnOnce(bool) + Send + 'static,
    ) -> Self {
        let way = Arc::clone(line);
        let work = Box::pin(async move {
            let said = sent(&way.channel, outgoing).await;
            landed(said.is_ok());
            said
        });
        Self { work: Some(work), line: Arc::clone(line), begun: false }
    }
}

async fn sent(channel: &Channel, outgoing: Outgoing) -> lapin::Result<Confirmed> {
    let Outgoing { exchange, key, mandatory, properties, payload } = outgoing;
    let options = BasicPublishOptions { mandatory, ..BasicPublishOptions::default() };
    let exchange = exchange.as_str().into();
    let written = channel.basic_publish(exchange, key, options, &payload, properties).await?;
    match written.await? {
        Confirmation::Ack(None) => Ok(Confirmed::Taken),
        Confirmation::Ack(Some(returned)) | Confirmation::Nack(Some(returned)) => {
            tracing::debug!(why = clipped(returned.reply_text.as_str()), "it came back");
            Ok(Confirmed::Unroutable)
        }
        Confirmation::Nack(None) => Ok(Confirmed::Refused),
        Confirmation::NotRequested => {
            Err(std::io::Error::other("the channel is in no confirm mode").into())
        }
    }
}

impl Future for Flight {
    type Output = lapin::Result<Confirmed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { work, line, begun } = &mut *self;
        let Some(flying) = work else {
            return Poll::Ready(Err(std::io::Error::other("it is over").into()));
        };
        let polled = if *begun {
            flying.as_mut().poll(context)
        } else {
            *begun = true;
            // All that comes before the first pause is the handing over.
            let _turn = line.turn.lock();
            flying.as_mut().poll(context)
        };
        if polled.is_ready() {
            *work = None;
        }
        polled
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(work) = self.work.take().filter(|_| self.begun) {
            self.line.runtime.spawn(async {
                // Whoever wanted to know is gone.
                let _ = work.await;
            });
        }
    }
}
