use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;
use lapin::options::BasicPublishOptions;
use lapin::{Channel, Confirmation};
use parking_lot::Mutex;

use super::{Confirmed, Outgoing};
use crate::error::clipped;

/// A message on its way to its confirmation. It goes on when nobody waits for it any more: the client keeps
/// a confirmation that is dropped for as long as the channel lives.
pub(super) struct Flight {
    /// Nothing once it is over.
    work: Option<BoxFuture<'static, lapin::Result<Confirmed>>>,
    runtime: tokio::runtime::Handle,
}

impl Flight {
    /// Hands the message to the client at once. Two that are handed over on one channel take turns: the
    /// client numbers a message before it queues it, and would mix up the confirmations of two that come
    /// between each other. When it has landed, `landed` is told whether the broker said something of it.
    pub(super) fn launch(
        channel: Channel,
        outgoing: &Outgoing,
        turn: &Mutex<()>,
        landed: impl FnOnce(bool) + Send + 'static,
    ) -> Self {
        let Outgoing { exchange, key, mandatory, properties, payload } = outgoing.clone();
        let mut work: BoxFuture<'static, _> = Box::pin(async move {
            let options = BasicPublishOptions { mandatory, ..BasicPublishOptions::default() };
            let exchange = exchange.as_str().into();
            let said = async {
                let publishing =
                    channel.basic_publish(exchange, key, options, &payload, properties);
                read(publishing.await?.await?)
            };
            let said = said.await;
            landed(said.is_ok());
            said
        });
        let first = {
            let _turn = turn.lock();
            // All that comes before the first pause is the handing over.
            work.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        };
        if let Poll::Ready(result) = first {
            work = Box::pin(std::future::ready(result));
        }
        Self { work: Some(work), runtime: tokio::runtime::Handle::current() }
    }
}

fn read(confirmation: Confirmation) -> lapin::Result<Confirmed> {
    match confirmation {
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
        let Some(work) = &mut self.work else {
            return Poll::Ready(Err(std::io::Error::other("it is over").into()));
        };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.runtime.spawn(async {
                // Whoever wanted to know is gone.
                let _ = work.await;
            });
        }
    }
}
