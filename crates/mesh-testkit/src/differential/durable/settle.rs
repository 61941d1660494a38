use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{Delivery, TransportError};
use tokio::time::Instant;

use super::desk::Delayed;
use super::world::DELAY;
use super::{Durable, Why};
use crate::differential::seen::done;
use crate::suite::{Failure, Verdict};

impl Durable {
    /// The delivery that an index means, out of its place.
    fn pick(&mut self, held: u8) -> Option<(usize, u64, Delivery)> {
        let (index, sequence) = self.place_of(held)?;
        let delivery = self.desks[index].held.remove(&sequence)?;
        Some((index, sequence, delivery))
    }

    fn place_of(&self, held: u8) -> Option<(usize, u64)> {
        let desks = self.desks.iter().enumerate();
        let all: Vec<_> = desks
            .flat_map(|(index, desk)| desk.held.keys().map(move |key| (index, *key)))
            .collect();
        let chosen = usize::from(held).checked_rem(all.len())?;
        all.get(chosen).copied()
    }

    async fn settled(
        &self,
        settling: impl Future<Output = Result<(), TransportError>> + Send,
    ) -> Result<String, Failure> {
        Ok(done(self.scene.soon("settling", settling).await?))
    }

    pub(super) async fn ack(&mut self, held: u8) -> Result<String, Failure> {
        match self.pick(held) {
            Some((_, _, delivery)) => self.settled(delivery.ack()).await,
            None => Ok(String::new()),
        }
    }

    pub(super) async fn terminate(&mut self, held: u8, why: Why) -> Result<String, Failure> {
        match self.pick(held) {
            Some((_, _, delivery)) => self.settled(delivery.terminate(why.reason())).await,
            None => Ok(String::new()),
        }
    }

    pub(super) async fn nak(&mut self, held: u8, later: bool) -> Result<String, Failure> {
        let Some((index, sequence, delivery)) = self.pick(held) else { return Ok(String::new()) };
        // Whether a message is given up before or after the delay of its last nak is not said.
        let later = later && !delivery.is_last_attempt();
        let desk = &mut self.desks[index];
        desk.goes_back(sequence, &delivery);
        if later {
            let clock = Arc::clone(self.controller.clock());
            let delayed = Delayed { since: clock.monotonic(), clock, came: None };
            desk.delayed.insert(sequence, delayed);
        }
        self.settled(delivery.nak(later.then_some(DELAY))).await
    }

    pub(super) fn drop_one(&mut self, held: u8) {
        if let Some((index, sequence, delivery)) = self.pick(held) {
            self.desks[index].goes_back(sequence, &delivery);
        }
    }

    pub(super) async fn progress(&mut self, held: u8) -> Result<String, Failure> {
        let Some((index, sequence)) = self.place_of(held) else { return Ok(String::new()) };
        match self.desks[index].held.get(&sequence) {
            Some(delivery) => self.settled(delivery.progress()).await,
            None => Ok(String::new()),
        }
    }

    /// Waits until what was given back for later has come again. Where nobody reads it can't, and is
    /// owed like anything else from now on.
    pub(super) async fn wait(&mut self) -> Verdict {
        if self.desks.iter().all(|desk| desk.delayed.is_empty()) {
            return Ok(());
        }
        self.scene.pass(DELAY).await;
        let due = Instant::now() + self.scene.patience();
        loop {
            let mut waited_for = None;
            for desk in &mut self.desks {
                desk.take();
                if !desk.is_read() {
                    desk.delayed.retain(|_, delayed| delayed.came.is_some());
                }
                let missing = |(sequence, delayed): (&u64, &Delayed)| {
                    delayed.came.is_none().then_some((desk.spec.reference.clone(), *sequence))
                };
                waited_for = waited_for.or(desk.delayed.iter().find_map(missing));
            }
            let Some((of, sequence)) = waited_for else { break };
            if Instant::now() >= due {
                let text = format!("{sequence} of {of} never came again after its delay");
                return Err(Failure::new(text));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        for desk in &mut self.desks {
            for (sequence, delayed) in std::mem::take(&mut desk.delayed) {
                desk.held.extend(delayed.came.map(|delivery| (sequence, delivery)));
            }
        }
        Ok(())
    }

    /// Lets every claim run out.
    pub(super) async fn lapse(&mut self) -> Verdict {
        if !self.lapses {
            return Ok(());
        }
        self.wait().await?;
        for desk in &mut self.desks {
            for (sequence, delivery) in std::mem::take(&mut desk.held) {
                desk.goes_back(sequence, &delivery);
                desk.stale.push(delivery);
            }
        }
        self.scene.pass(self.ack_wait).await;
        self.touched = self.controller.clock().monotonic();
        Ok(())
    }

    /// Acknowledges all that a consumer is owed; the answer is what that was, in order.
    pub(super) async fn settle_all(&mut self, index: usize) -> Result<Vec<String>, Failure> {
        let mut all = Vec::new();
        let due = Instant::now() + self.scene.patience();
        loop {
            self.desks[index].take();
            while let Some((sequence, delivery)) = self.desks[index].held.pop_first() {
                all.push((sequence, self.desks[index].describe(&delivery)));
                self.scene.soon("an ack", delivery.ack()).await??;
            }
            let owes = self.owes(index).await?.unwrap_or(0);
            if owes == 0 {
                break;
            }
            if Instant::now() >= due {
                let of = &self.desks[index].spec.reference;
                return Err(Failure::new(format!("{of} still owes {owes}, which do not come")));
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        all.sort_unstable();
        Ok(all.into_iter().map(|(_, text)| text).collect())
    }
}
