//! How it stands with a session: whether it is over, why, and whether the broker takes messages.

use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::sync::watch;

/// Ends once, for the first reason that is heard.
#[derive(Debug)]
pub(crate) struct Fate {
    over: watch::Sender<Option<TransportError>>,
    blocked: watch::Sender<Option<String>>,
}

impl Default for Fate {
    fn default() -> Self {
        Self { over: watch::Sender::new(None), blocked: watch::Sender::new(None) }
    }
}

impl Fate {
    /// It is over, for this reason.
    pub(crate) fn end(&self, why: TransportError) {
        self.over.send_if_modified(|over| {
            let first = over.is_none();
            if first {
                *over = Some(why);
            }
            first
        });
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
        let fate = Fate::default();
        assert!(fate.stands() && fate.over().now_or_never().is_none());
        fate.end(unknown().detail("one"));
        fate.end(unknown().detail("two"));
        assert!(!fate.stands());
        assert_eq!(fate.why().to_string(), "connect: disconnected (one)");
        assert_eq!(fate.over().now_or_never().unwrap().to_string(), fate.why().to_string());
    }
}
