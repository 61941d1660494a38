//! What a session sends, handed to the client without waiting where it has room.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use async_nats::Client;
use async_nats::client::PublishError;
use async_nats::message::OutboundMessage;
use futures_util::{Sink, SinkExt};
use parking_lot::Mutex;
use tokio::task::unconstrained;

/// A message that waits for room.
pub(crate) type Waiting = Pin<Box<dyn Future<Output = Result<(), PublishError>> + Send>>;

/// The client's end that messages go into, shared by all that send.
///
/// The client's `publish` reads subjects once more and has a future of half a kilobyte; ours were checked
/// when they were made.
#[derive(Debug)]
pub(crate) struct Outlet {
    client: Client,
    entrance: Mutex<Client>,
}

impl Outlet {
    pub(crate) fn new(client: &Client) -> Self {
        Self { client: client.clone(), entrance: Mutex::new(client.clone()) }
    }

    /// Hands `message` to the client, or answers what does when there is room.
    pub(crate) fn send(&self, message: OutboundMessage) -> Result<Option<Waiting>, PublishError> {
        Ok(self.try_send(message)?.map(|message| {
            let mut client = self.client.clone();
            Box::pin(async move { client.send(message).await }) as _
        }))
    }

    /// Hands it over if there is room; else gives it back.
    fn try_send(&self, message: OutboundMessage) -> Result<Option<OutboundMessage>, PublishError> {
        let mut entrance = self.entrance.lock();
        // Not counted as the task's work: one that has done much would be told that there is no room.
        let room = poll_fn(|context| Pin::new(&mut *entrance).poll_ready(context));
        let room = pin!(unconstrained(room)).poll(&mut Context::from_waker(Waker::noop()));
        match room {
            Poll::Ready(Ok(())) => entrance.start_send_unpin(message).map(|()| None),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Pending => {
                // It would keep the place that it now waits for.
                *entrance = self.client.clone();
                Ok(Some(message))
            }
        }
    }
}
