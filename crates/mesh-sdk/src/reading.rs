//! Reads one subscription, and opens it again when it is lost.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mesh_core::port::{Clock, ErrorKind, Incoming, Operation, ReceiveError, TransportError};
use tokio::task::JoinSet;

use crate::binding::{Binding, Line};
use crate::observe::Metric;
use crate::pauses::{LONGEST, Pauses};
use crate::places::{Place, Places, Stopped};
use crate::workers::Outcome;

/// Opens a subscription, within a time of its own.
pub(crate) type Opener<T> =
    Box<dyn Fn() -> BoxFuture<'static, Result<Incoming<T>, TransportError>> + Send + Sync>;

/// A subscription, and how to open it again.
pub(crate) struct Source<T> {
    name: String,
    operation: Operation,
    incoming: Incoming<T>,
    open: Opener<T>,
    line: Line,
}

impl<T> Source<T> {
    /// Opens it for the first time. `name` is for those who read logs, `measured` tells whether it is bound.
    pub(crate) async fn open(
        name: String,
        operation: Operation,
        open: Opener<T>,
        measured: Metric,
    ) -> Result<Self, TransportError> {
        let incoming = open().await?;
        Ok(Self { name, operation, incoming, open, line: Line::new(measured) })
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }
}

/// Starts a task for each arrival, until it is stopped or can't be opened any more. By then the
/// subscription is dropped: what is given back from here on goes to others.
pub(crate) async fn read<T, F, W>(
    source: Source<T>,
    clock: &dyn Clock,
    places: Arc<Places>,
    handle: F,
    tasks: &mut JoinSet<Outcome>,
    stopped: &mut Stopped,
) where
    T: Send + 'static,
    F: Fn(T, Place) -> W + Send + Sync + 'static,
    W: Future<Output = Outcome> + Send + 'static,
{
    let Source { name, operation, mut incoming, open, line } = source;
    let _ending = Ending { line: line.clone(), operation };
    let mut pauses = Pauses::of(&name);
    let mut reading = Reading { name: &name, operation, places };
    loop {
        let since = clock.monotonic();
        let error = tokio::select! {
            biased;
            _ = stopped.changed() => break,
            error = reading.take(&mut incoming, &handle, tasks) => error,
        };
        drop(incoming);
        if clock.monotonic().saturating_sub(since) >= LONGEST {
            pauses.begin_anew();
        }
        let reopened = tokio::select! {
            biased;
            _ = stopped.changed() => None,
            reopened = reopen(&name, error, &open, &line, clock, &mut pauses) => reopened,
            never = reap(tasks) => match never {},
        };
        match reopened {
            Some(reopened) => incoming = reopened,
            None => break,
        }
    }
    line.end(TransportError::new(ErrorKind::Closed, operation));
}

/// Says that nothing is read any more, should the task end in a way that nobody has thought of.
struct Ending {
    line: Line,
    operation: Operation,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let gone = TransportError::new(ErrorKind::Broker, self.operation);
        self.line.end(gone.detail("the task that read has panicked, or its runtime is gone"));
    }
}

struct Reading<'a> {
    name: &'a str,
    operation: Operation,
    places: Arc<Places>,
}

impl Reading<'_> {
    /// Takes arrivals until there are none; gives the reason.
    async fn take<T, F, W>(
        &mut self,
        incoming: &mut Incoming<T>,
        handle: &F,
        tasks: &mut JoinSet<Outcome>,
    ) -> TransportError
    where
        T: Send,
        F: Fn(T, Place) -> W + Sync,
        W: Future<Output = Outcome> + Send + 'static,
    {
        let mut place = None;
        loop {
            tokio::select! {
                biased;
                Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
                free = self.places.free(), if place.is_none() => place = free,
                () = self.places.wanted(), if place.is_some() => place = None,
                arrival = incoming.next(), if place.is_some() => {
                    match arrival {
                        Some(Ok(arrival)) => {
                            if let Some(free) = place.take() {
                                let places = Arc::clone(&self.places);
                                tasks.spawn(handle(arrival, Place::new(places, free)));
                            }
                        }
                        Some(Err(ReceiveError::Ended(error))) => return error,
                        Some(Err(notice)) => {
                            tracing::warn!(name = self.name, %notice, "while reading");
                        }
                        None => return TransportError::new(ErrorKind::Closed, self.operation),
                    }
                }
            }
        }
    }
}

/// Opens it again, however often that takes; nothing where it can't be.
async fn reopen<T>(
    name: &str,
    mut error: TransportError,
    open: &Opener<T>,
    line: &Line,
    clock: &dyn Clock,
    pauses: &mut Pauses,
) -> Option<Incoming<T>> {
    let mut told = None;
    loop {
        if told.replace(error.kind()) != Some(error.kind()) {
            tracing::error!(name, %error, cause = ?error, "nothing arrives");
        }
        let binding = Binding::after(error);
        let is_over = matches!(binding, Binding::Over(_));
        line.set(binding);
        if is_over {
            tracing::error!(name, "nothing will arrive any more");
            return None;
        }
        tokio::select! {
            biased;
            () = line.hurried() => {}
            () = clock.sleep(pauses.next()) => {}
        }
        match open().await {
            Ok(incoming) => {
                tracing::info!(name, "bound again");
                line.set(Binding::Bound);
                return Some(incoming);
            }
            Err(again) => error = again,
        }
    }
}

/// Sees to the tasks that end meanwhile.
async fn reap(tasks: &mut JoinSet<Outcome>) -> Infallible {
    loop {
        if tasks.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}
