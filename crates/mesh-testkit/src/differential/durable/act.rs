use std::num::NonZeroUsize;

use mesh_core::port::ConsumeOptions;

use super::desk::Reader;
use super::{Durable, Step};
use crate::differential::seen::{done, outcome, told};
use crate::suite::Failure;

/// How many deliveries a reader may hold: more than any consumer lets be unsettled.
const IN_FLIGHT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);

impl Durable {
    pub(super) async fn step(&mut self, step: Step) -> Result<String, Failure> {
        let count = self.desks.len();
        let desk = |consumer: u8| usize::from(consumer) % count;
        match step {
            Step::Append { to, id, last, clerk } => return self.append(to, id, last, clerk).await,
            Step::AppendTooMuch => return self.append_refused(false).await,
            Step::AppendForged => return self.append_refused(true).await,
            Step::Publish { to } => return self.publish(to).await,
            Step::Read { from, sequence } => return self.read(from, sequence).await,
            Step::Attach { consumer } => return self.attach(desk(consumer)).await,
            Step::Trespass { consumer } => return self.trespass(desk(consumer)).await,
            Step::Leave { consumer, keeping } => return self.leave(desk(consumer), keeping).await,
            Step::Close { consumer } => return self.close(desk(consumer)).await,
            Step::Ack { held } => return self.ack(held).await,
            Step::Nak { held, later } => return self.nak(held, later).await,
            Step::Terminate { held, why } => return self.terminate(held, why).await,
            Step::Progress { held } => return self.progress(held).await,
            Step::Drop { held } => self.drop_one(held),
            Step::Wait => self.wait().await?,
            Step::Lapse => self.lapse().await?,
            Step::Retire { consumer } => return self.retire(desk(consumer)).await,
            Step::Assert => return self.assert().await,
        }
        Ok(String::new())
    }

    pub(super) async fn attach(&mut self, index: usize) -> Result<String, Failure> {
        let Self { scene, desks, .. } = self;
        let desk = &mut desks[index];
        let most = if desk.spec.rules.shared { 2 } else { 1 };
        if desk.readers.len() >= most {
            return Ok(String::new());
        }
        let connection = scene.dial(desk.of.clone(), None).await?;
        let options = ConsumeOptions { in_flight: IN_FLIGHT, ..ConsumeOptions::default() };
        let reading = scene.try_consume(&connection, &desk.spec.reference, options).await?;
        Ok(outcome(reading, |deliveries| {
            desk.limbo.clear();
            desk.readers.push(Reader { connection, deliveries, newest: 0 });
            "reads".to_owned()
        }))
    }

    async fn trespass(&mut self, index: usize) -> Result<String, Failure> {
        let Some(clerk) = &self.clerk else { return Ok(String::new()) };
        let of = &self.desks[index].spec.reference;
        let reading = self.scene.try_consume(clerk, of, ConsumeOptions::default()).await?;
        Ok(done(reading))
    }

    async fn leave(&mut self, index: usize, keeping: bool) -> Result<String, Failure> {
        if self.lapses || !self.desks[index].is_read() {
            return Ok(String::new());
        }
        self.wait().await?;
        let settled = if self.desks[index].readers.len() > 1 {
            self.settle_all(index).await?
        } else {
            vec![]
        };
        let desk = &mut self.desks[index];
        let Some(reader) = desk.readers.pop() else { return Ok(String::new()) };
        let elsewhere = desk.is_kept();
        drop(reader.deliveries);
        if elsewhere {
            // What came on another connection may go back before the broker knows of this one's leave.
            self.scene.flush(&reader.connection).await?;
        }
        if keeping {
            desk.kept.extend(desk.held.keys());
        } else if !desk.is_read() {
            for (sequence, delivery) in std::mem::take(&mut desk.held) {
                desk.goes_back(sequence, &delivery);
            }
        }
        self.left.push(reader.connection);
        Ok(settled.join(", "))
    }

    async fn close(&mut self, index: usize) -> Result<String, Failure> {
        if self.lapses || self.desks[index].readers.len() != 1 || self.desks[index].is_kept() {
            return Ok(String::new());
        }
        self.wait().await?;
        let desk = &mut self.desks[index];
        let Some(reader) = desk.readers.pop() else { return Ok(String::new()) };
        let report = self.scene.close(&reader.connection).await?;
        let mut afterwards = String::new();
        for (sequence, delivery) in std::mem::take(&mut desk.held) {
            desk.goes_back(sequence, &delivery);
            if afterwards.is_empty() {
                afterwards = done(self.scene.soon("a late ack", delivery.ack()).await?);
            } else {
                desk.stale.push(delivery);
            }
        }
        // Of declarations it is not said whether those count that newer ones have replaced.
        let released = desk.spec.rules.shared.then_some(report.released);
        Ok(format!("released {released:?}, lost {}; {afterwards}", report.lost))
    }

    async fn retire(&mut self, index: usize) -> Result<String, Failure> {
        let of = self.desks[index].spec.reference.clone();
        let retiring = self.administration()?.retire(&of);
        let retired = self.scene.soon("retire", retiring).await?;
        let desk = &mut self.desks[index];
        desk.retired = true;
        desk.unknown.append(&mut desk.limbo);
        desk.delayed.clear();
        desk.stale.extend(std::mem::take(&mut desk.held).into_values());
        for mut reader in std::mem::take(&mut desk.readers) {
            let word = self.scene.told(&mut reader.deliveries).await?;
            desk.words.push(told(&word));
        }
        Ok(outcome(retired, |was_there| was_there.to_string()))
    }
}
