//! The ports, over one link.

mod administration;
mod requests;
mod streams;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::Operation;

use crate::link::{Link, deadline};

pub(crate) use administration::{LinkApi, ask};
pub(crate) use transport::malformed;

/// How long what was sent last may take after the connection was dropped.
const PARTING: Duration = Duration::from_secs(1);

/// One connection, as all its ports and arrivals hold it. When the last of them is dropped without
/// `close`, the connection ends all the same; what it had not sent is lost, and that is logged.
#[derive(Debug)]
pub(crate) struct Owner {
    link: Arc<Link>,
}

impl Owner {
    pub(crate) fn new(link: Arc<Link>) -> Arc<Self> {
        Arc::new(Self { link })
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.link.line.is_closed() {
            return;
        }
        let last = self.link.line.close();
        self.link.line.tell_closed();
        let Some(session) = last else { return };
        let waiting = session.pending.len();
        if waiting > 0 {
            tracing::warn!(waiting, "a connection was dropped without close while calls waited");
        }
        // What was handed to the client, acknowledgements above all, may reach the server yet.
        self.link.line.runtime().spawn(async move {
            let _ = session.handled(Operation::Close, deadline(PARTING)).await;
            session.abandon("it was dropped");
        });
    }
}

/// The ports of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub(crate) owner: Arc<Owner>,
}

impl Port {
    pub(crate) fn link(&self) -> &Arc<Link> {
        self.owner.link()
    }
}
