//! What comes by HTTPS, to the same end as what a mailbox brings.

use std::num::NonZeroUsize;
use std::sync::Arc;

use futures_util::stream::poll_fn;
use mesh_core::message::Message;
use mesh_core::mx::MailboxKind;

use super::lane::drive;
use super::shared::Phase;
use super::{EdgeGateway, inbound};
use crate::discovery::{Inlet, inbox};

impl EdgeGateway {
    /// A way in beside the mailboxes, for envelopes that come by HTTPS
    /// ([`routes`](crate::discovery::routes)): they are handled as if the mailbox `mx/in/1/<realm>/00` had
    /// brought them, and answered there. `room` of them wait at most; then, and once the gateway is closed,
    /// none is taken.
    ///
    /// No broker knows who posts. Let the rules want a proof of every realm.
    #[must_use]
    pub fn inlet(&self, room: NonZeroUsize) -> Arc<dyn Inlet> {
        let (inlet, mut posted) = inbox(room.get());
        let shared = Arc::clone(&self.shared);
        // As in a mailbox: where each request has a subscription of its own, it waits for it in its place.
        let at_once = match shared.replies_together {
            true => shared.options.at_once.get(),
            false => shared.options.at_once.get().max(shared.edge.limits().pending),
        };
        let kind = MailboxKind::default();
        let subject = kind.subject(shared.edge.realm());
        if let Some(tasks) = self.tasks.lock().as_mut() {
            tasks.mailboxes.spawn(async move {
                let lane = Arc::clone(&shared);
                let source = poll_fn(move |context| posted.poll_recv(context));
                drive(lane, source, at_once, Phase::Draining, |envelope| {
                    inbound::receive(&shared, kind, Message::new(subject.clone(), envelope))
                })
                .await;
            });
        }
        Arc::new(inlet)
    }
}
