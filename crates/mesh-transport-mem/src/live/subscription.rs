use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use mesh_core::message::Message;
use mesh_core::port::ReceiveError;

use super::listener::{Asked, Listener, Sink};
use super::queue::{End, Queue, Reader};
use super::table::EntryId;
use crate::link::Link;

/// A listener's place in its connection, given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) listener: Arc<Listener>,
    pub(crate) id: EntryId,
    pub(crate) link: Arc<Link>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.link.detach_listener(self.id);
        self.listener.end(End::Closed);
        self.listener.forget();
        self.link.broker.hand_on(&self.listener);
    }
}

/// What arrives at a listener.
#[derive(Debug)]
pub(crate) struct Arrivals<T> {
    held: Held,
    reader: Reader<T>,
}

impl<T> Arrivals<T> {
    pub(crate) fn new(held: Held) -> Self {
        Self { held, reader: Reader::new() }
    }

    pub(crate) fn listener(&self) -> &Arc<Listener> {
        &self.held.listener
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.held.link
    }
}

/// What a listener can be given.
pub(crate) trait Arrival: Unpin + Sized {
    fn queue(sink: &Sink) -> Option<&Queue<Self>>;
}

impl Arrival for Message {
    fn queue(sink: &Sink) -> Option<&Queue<Self>> {
        match sink {
            Sink::Messages(queue) => Some(queue),
            Sink::Calls(..) => None,
        }
    }
}

impl Arrival for Asked {
    fn queue(sink: &Sink) -> Option<&Queue<Self>> {
        match sink {
            Sink::Messages(_) => None,
            Sink::Calls(queue, _) => Some(queue),
        }
    }
}

impl<T: Arrival> Stream for Arrivals<T> {
    type Item = Result<T, ReceiveError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { held, reader } = self.get_mut();
        match T::queue(&held.listener.sink) {
            Some(queue) => reader.poll(queue, context),
            None => Poll::Ready(None),
        }
    }
}
