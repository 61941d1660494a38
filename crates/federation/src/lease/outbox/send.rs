use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{MxPath, Profile};
use mesh_core::name::RealmName;
use mesh_core::port::{ErrorKind, PublishOptions, TransportError};
use mesh_core::time::Backoff;

use super::super::counts::{FEDERATION, add};
use super::super::notice_path;
use super::Inner;
use super::queue::Work;
use crate::event::{Event, EventError};

const PAUSES: Backoff = Backoff { min: Duration::from_millis(50), max: Duration::from_secs(2) };

impl Inner {
    /// Sends what waits for `realm`, one after the other, until nothing does.
    pub(super) async fn work(self: Arc<Self>, realm: RealmName) {
        while let Some(work) = self.next(&realm) {
            let sent = self.send(&realm, &work).await;
            self.done(&realm, &work, sent);
        }
        self.emptied.notify_waiters();
    }

    /// The next for `realm`; where there is none the outbox is gone, and so is what is behind this call.
    fn next(&self, realm: &RealmName) -> Option<Work> {
        let mut queues = self.queues.lock();
        let work = queues.get_mut(realm.as_str())?.queue.first();
        if work.is_none() {
            queues.remove(realm.as_str());
        }
        work
    }

    fn done(&self, realm: &RealmName, work: &Work, sent: Result<(), Failed>) {
        let counts = &self.setup.counts;
        let mut queues = self.queues.lock();
        let Some(outbox) = queues.get_mut(realm.as_str()) else {
            return;
        };
        outbox.queue.sent(work);
        match (work, sent) {
            (Work::Event(..), Ok(())) => add(&counts.forwarded, 1),
            (_, Ok(())) => add(&counts.notices, 1),
            (Work::Event(target, event), Err(why)) => {
                add(&counts.undelivered, 1);
                tracing::warn!(sink = %realm, lease = %target.id, %why, "an event was not forwarded");
                outbox.queue.missed(target.clone(), &event.source, 1);
            }
            // It is told once: a notice about a notice would not arrive either.
            (_, Err(why)) => {
                add(&counts.notices_lost, 1);
                tracing::warn!(sink = %realm, %why, "a notice about a lease was not sent");
            }
        }
    }

    async fn send(&self, realm: &RealmName, work: &Work) -> Result<(), Failed> {
        match work {
            Work::Event(target, event) => {
                let path = MxPath::new(&*target.path).map_err(|_| Failed::Path)?;
                let (from, trace) = (&event.source, event.trace_id.as_deref());
                self.publish(realm, &path, target.profile, from, trace, &event.body).await
            }
            Work::Notice(notice, profile) => {
                let path = notice_path(&notice.sink).map_err(|_| Failed::Path)?;
                self.publish(realm, &path, *profile, &FEDERATION, None, &notice.body()).await
            }
            Work::Missed(_) => Ok(()),
        }
    }

    async fn publish(
        &self,
        to: &RealmName,
        to_path: &MxPath<'_>,
        profile: Profile,
        from_path: &MxPath<'_>,
        trace_id: Option<&str>,
        body: &RawJson<'_>,
    ) -> Result<(), Failed> {
        let setup = &self.setup;
        let clock = setup.backbone.clock();
        let from_path = Some(from_path);
        let event = Event { from: &setup.realm, from_path, to, to_path, profile, trace_id, body };
        // Sent again it is the same message: the id is what tells a repeat.
        let message = event.message(&setup.random.id(), clock.now(), setup.sign.as_deref())?;
        let until = clock.monotonic().saturating_add(setup.limits.retry);
        let mut attempt = 0;
        loop {
            let error = match self.once(&message).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let again = error.may_retry() || error.kind() == ErrorKind::Disconnected;
            let pause = PAUSES.longest(attempt);
            if !again || clock.monotonic().saturating_add(pause) >= until {
                return Err(Failed::Backbone(error));
            }
            clock.sleep(pause).await;
            attempt += 1;
        }
    }

    async fn once(&self, message: &Message) -> Result<(), TransportError> {
        let transport = self.setup.backbone.transport();
        transport.publish(message.clone(), PublishOptions::default()).await
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    #[error("its path is none")]
    Path,
    #[error(transparent)]
    Event(#[from] EventError),
    #[error(transparent)]
    Backbone(TransportError),
}
