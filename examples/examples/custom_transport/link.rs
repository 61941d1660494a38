//! What the calls of one connection share: the task that speaks to the broker, and who listens.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mesh_core::message::Message;
use mesh_core::port::{
    ConnectionState, ErrorKind, Operation, ReceiveError, RefusalReason, TransportError,
};
use mesh_core::subject::Subject;
use mesh_session::Queue;
use parking_lot::Mutex;
use tokio::io::{BufReader, BufWriter};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use super::wire::{self, Frame, Head};

/// How many frames may wait to be sent, and how many may wait for their `Done`.
const ROOM: usize = 256;

/// Told when the broker has done what a frame asked for; dropped when the connection ends before that.
type Done = oneshot::Sender<()>;

#[derive(Debug)]
pub(crate) struct Link {
    outbox: mpsc::Sender<(Frame, Option<Done>)>,
    listeners: Arc<Listeners>,
    pub(crate) states: Arc<watch::Sender<ConnectionState>>,
    closing: AtomicBool,
    numbers: AtomicU64,
    speaking: AbortHandle,
}

#[derive(Debug, Default)]
struct Listeners {
    open: Mutex<HashMap<u64, Arc<Listener>>>,
    /// Those that have left, until the broker is told: with the next frame.
    left: Mutex<Vec<u64>>,
}

#[derive(Debug)]
struct Listener {
    subject: Subject,
    queue: Queue<Message>,
}

impl Link {
    pub(crate) fn over(stream: TcpStream) -> Arc<Self> {
        let _ = stream.set_nodelay(true);
        let (reading, writing) = stream.into_split();
        let (outbox, frames) = mpsc::channel(ROOM);
        let (owed, owing) = mpsc::channel(ROOM);
        let listeners = Arc::new(Listeners::default());
        let states = Arc::new(watch::Sender::new(ConnectionState::Connected));
        let (hearing, telling) = (Arc::clone(&listeners), Arc::clone(&states));
        let speaking = tokio::spawn(async move {
            let over = tokio::select! {
                over = hear(reading, owing, &hearing) => over,
                over = speak(writing, frames, owed, &hearing) => over,
            };
            let Err(error) = over else {
                return; // the link was dropped
            };
            let lost = TransportError::new(ErrorKind::Disconnected, Operation::Connect);
            let lost = lost.retry(false).caused_by(error);
            telling.send_replace(ConnectionState::Disconnected(lost.clone()));
            hearing.end(Some(&lost));
        });
        Arc::new(Self {
            outbox,
            listeners,
            states,
            closing: AtomicBool::new(false),
            numbers: AtomicU64::new(0),
            speaking: speaking.abort_handle(),
        })
    }

    /// Sends a frame and returns when the broker has done what it asks for. Given up midway it is done
    /// or not, and no other call is confused: answers come in the order of the frames.
    pub(crate) async fn call(
        &self,
        frame: Frame,
        operation: Operation,
        timeout: Duration,
    ) -> Result<(), TransportError> {
        let (done, answer) = oneshot::channel();
        let exchange = async {
            self.outbox.send((frame, Some(done))).await.ok()?;
            answer.await.ok()
        };
        match tokio::time::timeout(timeout, exchange).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(self.over_for(operation)),
            Err(_) => Err(TransportError::new(ErrorKind::TimedOut, operation)),
        }
    }

    pub(crate) fn check_open(&self, operation: Operation) -> Result<(), TransportError> {
        let open = self.states.borrow().is_connected() && !self.closing.load(Ordering::Acquire);
        if open { Ok(()) } else { Err(self.over_for(operation)) }
    }

    fn over_for(&self, operation: Operation) -> TransportError {
        if self.closing.load(Ordering::Acquire) {
            return TransportError::new(ErrorKind::Closed, operation);
        }
        let lost = TransportError::new(ErrorKind::Disconnected, operation).retry(false);
        match &*self.states.borrow() {
            ConnectionState::Disconnected(why) => lost.caused_by(why.clone()),
            _ => lost, // a moment ago
        }
    }

    /// Accepts nothing more, and lets every listener leave. Whether this was the first to say so.
    pub(crate) fn begin_close(&self) -> bool {
        let first = !self.closing.swap(true, Ordering::AcqRel);
        if first {
            let numbers: Vec<_> = self.listeners.open.lock().keys().copied().collect();
            self.listeners.left.lock().extend(numbers);
        }
        first
    }

    /// Ends it: subscriptions end after what has arrived, calls under way fail.
    pub(crate) fn end(&self, state: ConnectionState) {
        self.listeners.end(None);
        self.states.send_replace(state);
        self.speaking.abort();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.speaking.abort();
    }
}

/// One subscription, from before the broker knows of it until it is dropped.
pub(crate) struct Place {
    link: Arc<Link>,
    number: u64,
    listener: Arc<Listener>,
}

impl Place {
    pub(crate) fn take(link: &Arc<Link>, subject: Subject, buffer: usize) -> Self {
        let number = link.numbers.fetch_add(1, Ordering::Relaxed);
        let listener = Arc::new(Listener { subject, queue: Queue::new(buffer) });
        link.listeners.open.lock().insert(number, Arc::clone(&listener));
        Self { link: Arc::clone(link), number, listener }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn poll(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Message, ReceiveError>>> {
        self.listener.queue.poll(context)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Listeners { open, left } = &*self.link.listeners;
        if open.lock().remove(&self.number).is_some() {
            left.lock().push(self.number);
            // Wakes the task that speaks. Where there is no room, it has frames to send anyhow.
            let _ = self.link.outbox.try_send((Head::Flush.into(), None));
        }
    }
}

impl Listeners {
    /// They end after what has arrived: on purpose, or for this reason.
    fn end(&self, why: Option<&TransportError>) {
        for (_, listener) in self.open.lock().drain() {
            listener.queue.end(why.cloned());
        }
    }
}

/// Writes each frame, and before it who has left.
async fn speak(
    writing: OwnedWriteHalf,
    mut frames: mpsc::Receiver<(Frame, Option<Done>)>,
    owed: mpsc::Sender<Option<Done>>,
    listeners: &Listeners,
) -> io::Result<()> {
    let mut writing = BufWriter::new(writing);
    while let Some((frame, done)) = frames.recv().await {
        let left = std::mem::take(&mut *listeners.left.lock());
        for number in left {
            wire::write(&mut writing, &Head::Unsubscribe { number }.into()).await?;
        }
        if let Head::Subscribe { number, .. } = &frame.head
            && !listeners.open.lock().contains_key(number)
        {
            continue; // given up before it was sent, and told so just now
        }
        // Before the frame, so that whoever reads its answer finds it.
        owed.send(done).await.map_err(io::Error::other)?;
        wire::write(&mut writing, &frame).await?;
    }
    Ok(())
}

/// Reads what the broker says. It never waits for a reader: who is slow loses messages and is told.
async fn hear(
    reading: OwnedReadHalf,
    mut owing: mpsc::Receiver<Option<Done>>,
    listeners: &Listeners,
) -> io::Result<()> {
    let mut reading = BufReader::new(reading);
    loop {
        let Frame { head, payload } = wire::read(&mut reading).await?;
        match head {
            Head::Done => {
                let done = owing.try_recv().map_err(io::Error::other)?;
                // Its caller may have given up.
                let _ = done.map(|done| done.send(()));
            }
            Head::Deliver { number, letter } => {
                let Some(listener) = listeners.open.lock().get(&number).cloned() else {
                    continue; // it has left meanwhile
                };
                match letter.into_message(payload) {
                    Some(message) => listener.queue.push(message),
                    None => listener.queue.tell(ReceiveError::Refused {
                        subject: listener.subject.clone(),
                        reason: RefusalReason::Malformed,
                    }),
                }
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
