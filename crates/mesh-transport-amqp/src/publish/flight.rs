use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use lapin::options::BasicPublishOptions;
use lapin::types::ShortString;
use lapin::{Channel, Confirmation};
use mesh_core::topology::AmqpExchange;
use parking_lot::Mutex;

use super::returned::Returned;
use super::{Confirmed, Outgoing, Route};
use crate::kept::Lasts;

/// A channel in confirm mode. Two messages that are handed over on it take turns: the client numbers a
/// message before it queues it, and would mix up the confirmations of two that come between each other.
#[derive(Debug)]
pub(super) struct Line {
    channel: Channel,
    turn: Mutex<()>,
    returned: Arc<Returned>,
    runtime: tokio::runtime::Handle,
}

impl Line {
    pub(super) fn new(channel: Channel, returned: &Arc<Returned>) -> Arc<Self> {
        let (returned, runtime) = (Arc::clone(returned), tokio::runtime::Handle::current());
        Arc::new(Self { channel, turn: Mutex::new(()), returned, runtime })
    }
}

impl Lasts for Line {
    fn lasts(&self) -> bool {
        self.channel.lasts()
    }
}

/// Why a message was not confirmed. The channel is closed.
#[derive(Debug)]
pub(super) enum Unconfirmed {
    /// It was not sent.
    Unsent(lapin::Error),
    /// It was sent, and perhaps taken.
    Sent(lapin::Error),
}

impl Unconfirmed {
    /// What the client says.
    pub(super) fn error(&self) -> &lapin::Error {
        match self {
            Self::Unsent(error) | Self::Sent(error) => error,
        }
    }
}

/// A message on its way to its confirmation. Once it was looked at it goes on, also when nobody waits for it
/// any more: the client keeps a confirmation that is dropped for as long as the channel lives.
pub(super) struct Flight {
    /// Nothing once it is over.
    work: Option<BoxFuture<'static, Result<Confirmed, Unconfirmed>>>,
    line: Arc<Line>,
    begun: bool,
}

impl Flight {
    /// Goes on `line`. When it has landed, `landed` is told whether the broker said something of it.
    pub(super) fn new(
        line: &Arc<Line>,
        route: &Route,
        outgoing: Outgoing,
        landed: impl FnOnce(bool) + Send + 'static,
    ) -> Self {
        let way = Arc::clone(line);
        let (exchange, key) = (route.exchange, route.key.clone());
        let work = Box::pin(async move {
            let said = sent(&way, exchange, key, outgoing).await;
            landed(said.is_ok());
            said
        });
        Self { work: Some(work), line: Arc::clone(line), begun: false }
    }
}

async fn sent(
    line: &Line,
    exchange: AmqpExchange,
    key: ShortString,
    outgoing: Outgoing,
) -> Result<Confirmed, Unconfirmed> {
    let Outgoing { mandatory, properties, payload } = outgoing;
    let watched = mandatory.map(|id| line.returned.watch(id));
    let options = BasicPublishOptions { mandatory: watched.is_some(), immediate: false };
    let name = exchange.as_str().into();
    // It fails before anything is sent, or not at all: what it waits for is that it was written.
    let written = line.channel.basic_publish(name, key, options, &payload, properties).await;
    let said = written.map_err(Unconfirmed::Unsent)?.await.map_err(Unconfirmed::Sent)?;
    // What the client attaches may be another's.
    if watched.is_some_and(|watched| watched.came_back()) {
        tracing::debug!(exchange = exchange.as_str(), "a message came back: no queue takes it");
        return Ok(Confirmed::Unroutable);
    }
    match said {
        Confirmation::Ack(_) => Ok(Confirmed::Taken),
        Confirmation::Nack(_) => Ok(Confirmed::Refused),
        Confirmation::NotRequested => {
            let error = std::io::Error::other("the channel is in no confirm mode");
            Err(Unconfirmed::Sent(error.into()))
        }
    }
}

impl Future for Flight {
    type Output = Result<Confirmed, Unconfirmed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { work, line, begun } = &mut *self;
        let Some(flying) = work else {
            let over = std::io::Error::other("it is over");
            return Poll::Ready(Err(Unconfirmed::Sent(over.into())));
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
