//! How it stands with a session: whether it is over, why, and whether the broker takes messages.

use std::sync::Arc;

use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::error::{failed, lost};

/// Ends once, for the first reason that is heard.
#[derive(Debug)]
pub(crate) struct Fate {
    over: watch::Sender<Option<TransportError>>,
    blocked: watch::Sender<Option<String>>,
    /// For how many messages may wait for their confirmation. Closed when it is over, so that nobody who
    /// waits for a place has to look for that.
    places: Arc<Semaphore>,
    most: usize,
}

impl Fate {
    /// Of a session on which at most `most` messages wait for their confirmation at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            over: watch::Sender::new(None),
            blocked: watch::Sender::new(None),
            places: Arc::new(Semaphore::new(most)),
            most,
        }
    }

    /// It is over, for this reason.
    pub(crate) fn end(&self, why: TransportError) {
        self.over.send_if_modified(|over| {
            let first = over.is_none();
            if first {
                *over = Some(why);
            }
            first
        });
        self.places.close();
    }

    /// Waits for a place among those whose confirmation is waited for. Nothing once it is over.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let places = Arc::clone(&self.places);
        // Whoever waits for a place has it before this one can.
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            return Some(place);
        }
        places.acquire_owned().await.ok()
    }

    /// Whether no message waits for its confirmation.
    pub(crate) fn is_idle(&self) -> bool {
        self.places.available_permits() == self.most
    }

    /// Whether it is not over.
    pub(crate) fn stands(&self) -> bool {
        self.over.borrow().is_none()
    }

    /// Returns when it is over, with the reason.
    pub(crate) async fn over(&self) -> TransportError {
        let mut over = self.over.subscribe();
        match over.wait_for(Option::is_some).await.map(|over| over.clone()) {
            Ok(Some(why)) => why,
            _ => unknown(),
        }
    }

    /// Why it is over.
    pub(crate) fn why(&self) -> TransportError {
        self.over.borrow().clone().unwrap_or_else(unknown)
    }

    /// The error of a call that the client failed: that it is over explains whatever the client says.
    pub(crate) fn failed(&self, error: &lapin::Error, operation: Operation) -> TransportError {
        let told = failed(error, operation);
        match told.kind() {
            ErrorKind::Disconnected if !self.stands() => lost(operation, self.why()),
            _ => told,
        }
    }

    /// Says whether the broker takes no messages for now, and why.
    pub(crate) fn block(&self, why: Option<String>) {
        self.blocked.send_replace(why);
    }

    /// Why the broker takes no messages, if it doesn't.
    pub(crate) fn blocked(&self) -> Option<String> {
        self.blocked.borrow().clone()
    }
}

fn unknown() -> TransportError {
    TransportError::new(ErrorKind::Disconnected, Operation::Connect)
        .detail("the connection to the broker was lost")
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_first_reason_is_the_one_that_is_told() {
        let fate = Fate::new(2);
        assert!(fate.stands() && fate.over().now_or_never().is_none());
        fate.end(unknown().detail("one"));
        fate.end(unknown().detail("two"));
        assert!(!fate.stands());
        assert_eq!(fate.why().to_string(), "connect: disconnected (one)");
        assert_eq!(fate.over().now_or_never().unwrap().to_string(), fate.why().to_string());
    }
    #[test]
    fn whoever_waits_for_a_place_hears_the_end() {
        let fate = Fate::new(1);
        let place = fate.place().now_or_never().unwrap();
        assert!(place.is_some() && !fate.is_idle());
        let mut waiting = Box::pin(fate.place());
        assert!((&mut waiting).now_or_never().is_none());
        fate.end(unknown());
        assert!(waiting.now_or_never().unwrap().is_none());
        drop(place);
        assert!(fate.is_idle() && fate.place().now_or_never().unwrap().is_none());
    }
}
