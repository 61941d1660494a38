//! Leaving a consumer: nothing more is taken, and what waited goes to whoever reads next.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt};
use lapin::options::BasicCancelOptions;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::time::Instant;

use super::state::Say;
use super::{Reading, seat};
use crate::link::{Reader, deadline};
use crate::session::Session;

/// How long the broker may take to let a reader go.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

impl Reading {
    /// Stops the deliveries, and gives back those that wait for the reader; how many those were. What was
    /// handed on stays with whoever has it.
    pub(super) async fn leave_seat(&self, session: &Session, due: Instant) -> u64 {
        let _turn = self.leaving.lock().await;
        let (channel, sources) = {
            let mut state = self.state.lock();
            state.send_acks();
            (state.channel(), state.take_sources())
        };
        let Some(channel) = channel else { return 0 };
        let mut given_back = 0;
        for mut source in sources {
            let cancelling = channel.basic_cancel(source.tag(), BasicCancelOptions::default());
            // Without an answer, the channel's end does it.
            let _ = session.answered(Operation::Consume, due, cancelling).await;
            while let Some(Some(Ok(delivery))) = source.next().now_or_never() {
                let mut state = self.state.lock();
                let claim = state.claim(delivery.delivery_tag);
                state.say(claim, Say::Back);
                given_back += 1;
            }
        }
        self.state.lock().give_back_held();
        // What was given back is there for others.
        let _ = seat::round_trip(session, &channel, self.most(), Operation::Consume, due).await;
        given_back
    }

    /// Takes all claims back, and gives those deliveries back; how many those were.
    fn revoke(&self) -> u64 {
        let mut state = self.state.lock();
        let claims = std::mem::take(&mut state.claims);
        let mut released = 0;
        for claim in claims.into_values() {
            released += u64::from(state.say(claim, Say::Back));
        }
        self.wake(state);
        released
    }
}

#[async_trait]
impl Reader for Reading {
    async fn leave(&self, due: Instant) -> u64 {
        let Some(session) = self.link.line.session_now() else { return 0 };
        let given_back = self.leave_seat(&session, due).await;
        given_back + self.revoke()
    }

    async fn settled(&self, operation: Operation, due: Instant) -> Result<(), TransportError> {
        let (channel, said, undone) = {
            let mut state = self.state.lock();
            state.send_acks();
            // A close counts them, with all that is in doubt at its end.
            let undone = match operation {
                Operation::Flush => state.doubt.take_undone(),
                _ => 0,
            };
            (state.channel(), state.doubt.said(), undone)
        };
        if undone > 0 {
            let detail =
                format!("{undone} verdicts were lost with their channel; those come again");
            return Err(TransportError::new(ErrorKind::Disconnected, operation)
                .about(self.consumer.to_string())
                .detail(detail));
        }
        let (Some(channel), Some(session)) = (channel, self.link.line.session_now()) else {
            return Ok(());
        };
        let about = |error: TransportError| error.about(self.consumer.to_string());
        let handled = seat::round_trip(&session, &channel, self.most(), operation, due).await;
        handled.map_err(about)?;
        self.state.lock().doubt.prove(said);
        Ok(())
    }

    fn in_doubt(&self) -> u64 {
        self.state.lock().doubt.count()
    }
}

/// When whoever leaves gives up waiting for the broker.
pub(super) fn parting() -> Instant {
    deadline(PATIENCE)
}
