//! The ports, over one link.

mod administration;
mod requests;
mod streams;
mod transport;

use std::sync::Arc;

use crate::link::{Link, Phase, Stage};

pub(crate) use administration::LinkApi;
pub(crate) use transport::malformed;

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
        if matches!(&*self.link.phase.borrow(), Phase::Closed) {
            return;
        }
        let waiting = self.link.session_now().map_or(0, |session| session.pending.len());
        if waiting > 0 {
            tracing::warn!(waiting, "a connection was dropped without close while calls waited");
        }
        self.link.stage.send_replace(Stage::Draining);
        self.link.phase.send_replace(Phase::Closed);
        self.link.tell_state();
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
