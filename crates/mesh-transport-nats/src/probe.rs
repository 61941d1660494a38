//! Sends probes (see [`pending`](crate::pending)), and gives a session up whose probes find no end.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use bytes::Bytes;
use mesh_core::port::{Operation, TransportError};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::error;
use crate::hearing::{Hearing, Marked};

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Prober {
    pub(crate) client: Client,
    pub(crate) hearing: Arc<Hearing>,
    /// How long a probe may stay unanswered. Its answer is lost where refusals come faster than the
    /// client hands them on, and without it nothing later is ever proven.
    pub(crate) patience: Duration,
}

impl Prober {
    /// Sends one.
    pub(crate) async fn probe(&self) -> Result<(), TransportError> {
        let Self { client, hearing, .. } = self;
        let probe = hearing.pending.probing();
        if let Some(key) = probe.echo {
            let echo = hearing.echoes.address(key);
            let sent = client.publish(echo.clone(), Bytes::new()).await;
            sent.map_err(|e| error::publish_error(e, Operation::Publish, &echo))?;
        }
        if probe.marked {
            let Marked { subject, reply } = hearing.marked(probe.number);
            let sent = client.publish_with_reply(subject.clone(), reply, Bytes::new()).await;
            sent.map_err(|e| error::publish_error(e, Operation::Flush, &subject))?;
        } else {
            let sent = client.subscribe(hearing.probe.clone()).await;
            sent.map_err(|e| error::subscribe_error(e, Operation::Flush, &hearing.probe))?;
        }
        probe.handed_over();
        Ok(())
    }

    /// Sends one whenever somebody came to wait while another was on its way, and now and then for
    /// answers, for which nobody waits, until the session is lost.
    pub(crate) async fn run(self) {
        let mut look = interval(self.patience / 4);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let pending = &self.hearing.pending;
        loop {
            let mut all = false;
            tokio::select! {
                () = pending.wanted.notified() => {}
                now = look.tick() => {
                    all = true;
                    if self.is_overdue(now) {
                        let why = format!("no word from the server in {:?}", self.patience);
                        tracing::warn!("{why}; reconnecting");
                        return self.hearing.give_up(why);
                    }
                }
                () = self.hearing.lost() => return,
            }
            if pending.needs_probe(all) && self.probe().await.is_err() {
                return self.hearing.end();
            }
        }
    }

    fn is_overdue(&self, now: Instant) -> bool {
        let since = self.hearing.pending.probing_since();
        since.is_some_and(|since| now.saturating_duration_since(since) >= self.patience)
    }
}
