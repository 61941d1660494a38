use std::pin::pin;

use futures_util::FutureExt as _;
use futures_util::future::select_all;
use mesh_core::event::decode_header;
use mesh_core::port::{Delivery, ReceiveError};
use mesh_core::topology::StreamName;

use super::bench::{Bench, Held, REASON, Reader};
use super::state::DeadLetter;
use super::world::{IN_FLIGHT, consumers, dead_letters};
use super::{Divergence, NEEDS, Operation};
use crate::clock::settle;
use crate::suite::scene::text;
use crate::suite::{Failure, Harness, Stage, Verdict, ensure, ensure_eq};

/// Runs `operations` on a fresh bed and on the model.
///
/// # Errors
/// [`Divergence`], the first.
pub async fn check(harness: &dyn Harness, operations: &[Operation]) -> Result<(), Divergence> {
    let promised = harness.promised();
    if let Some(missing) = NEEDS.iter().find(|needed| !promised.contains(needed)) {
        return Err(Divergence {
            step: 0,
            operation: None,
            problem: format!("the comparison needs {missing:?}, which is not promised"),
        });
    }
    let stage = Stage::new(harness);
    let compared = compare(&stage, operations).await;
    stage.end().await;
    compared
}

async fn compare(stage: &Stage<'_>, operations: &[Operation]) -> Result<(), Divergence> {
    let diverged = |step, failure: Failure| Divergence {
        step,
        operation: operations.get(step).copied(),
        problem: failure.to_string(),
    };
    let opened = Bench::open(stage).await;
    let mut bench = opened.map_err(|failure| diverged(0, failure))?;
    for (step, operation) in operations.iter().enumerate() {
        let done = bench.step(*operation).await;
        done.map_err(|failure| diverged(step, failure))?;
    }
    let end = bench.end().await;
    end.map_err(|failure| diverged(operations.len(), failure))
}

impl Bench {
    /// Takes whatever is due until nothing is, and sees that nothing else comes.
    pub(super) async fn drain(&mut self) -> Verdict {
        for consumer in 0..3 {
            loop {
                let admitted = self.model.admits(consumer);
                let (held, stale, readers) = (&self.held, &self.stale, &mut self.readers);
                let has_room = |reader: &Reader| {
                    reader.consumer == consumer
                        && count_of(reader.id, held) + count_of(reader.id, stale) < IN_FLIGHT
                };
                let free = readers.iter_mut().filter(|reader| has_room(reader));
                let next: Vec<_> = free.map(|reader| next_of(reader).boxed()).collect();
                if admitted.is_empty() || next.is_empty() {
                    break;
                }
                let what = "a delivery that is due";
                let ((reader, item), _, _) = self.scene.soon(what, select_all(next)).await?;
                let delivery = item.ok_or_else(|| Failure::new("a reader ended"))??;
                self.accept(reader, consumer, delivery, &admitted)?;
            }
        }
        loop {
            settle().await;
            let readers = &mut self.readers;
            let unasked = readers.iter_mut().find_map(|reader| {
                let came = pin!(reader.deliveries.next()).now_or_never()?;
                Some((reader.id, reader.consumer, came))
            });
            let Some((reader, consumer, came)) = unasked else {
                return Ok(());
            };
            // The broker may have made room where the claim of a delivery ran out.
            let Some(Ok(delivery)) = came else {
                return Err(Failure::new(format!("nothing is due, but {came:?} came")));
            };
            let admitted = self.model.admits(consumer);
            self.accept(reader, consumer, delivery, &admitted)?;
        }
    }

    fn accept(
        &mut self,
        reader: u64,
        consumer: usize,
        delivery: Delivery,
        admitted: &[(u64, u32)],
    ) -> Verdict {
        let sequence = delivery.info().sequence.unwrap_or(0);
        let found = (sequence, delivery.info().attempt);
        let in_flight = count_of(reader, &self.held);
        ensure!(in_flight < IN_FLIGHT, "{found:?} came to a reader that holds {in_flight}");
        ensure!(
            admitted.contains(&found),
            "sequence and attempt {found:?} came, due are {admitted:?}"
        );
        let spec = &consumers()[consumer];
        let info = delivery.info();
        let told = (info.ack_wait, info.max_attempts);
        let rules = (Some(spec.rules.ack_wait), spec.rules.max_deliver);
        ensure_eq!(told, rules, "claim and most attempts");
        let stream = spec.reference.stream;
        let expected = self.model.message(stream, sequence);
        let message = delivery.message();
        let same = expected.is_some_and(|(subject, body)| {
            message.subject() == subject && message.payload() == body.as_bytes()
        });
        ensure!(same, "it is another message than was appended: {message:?}");
        let now = self.model.now;
        if let Some(consumer) = self.model.consumer(consumer) {
            consumer.deliver(sequence, found.1, now);
        }
        self.held.push(Held { reader, consumer, sequence, delivery });
        Ok(())
    }

    /// Compares what the broker counts with the model.
    pub(super) async fn count(&mut self) -> Verdict {
        let administration = self.controller.administration()?;
        for stream in [StreamName::Events, StreamName::Control] {
            let inspecting = administration.inspect(stream);
            let found = self.scene.soon("inspect", inspecting).await??;
            let found = found.map(|state| state.messages);
            ensure_eq!(found, Some(self.model.stored(stream)), stream);
        }
        for (index, spec) in consumers().iter().enumerate() {
            let inspecting = administration.inspect_consumer(&spec.reference);
            let found = self.scene.soon("inspect", inspecting).await??;
            let found = found.map(|state| state.owed());
            ensure_eq!(found, self.model.owes(index), spec.reference);
        }
        Ok(())
    }

    /// Compares the dead letters.
    pub(super) async fn end(mut self) -> Verdict {
        if !self.buries {
            return Ok(());
        }
        let of = dead_letters();
        let mut reading = self.scene.consume(&self.controller, &of).await?;
        let mut expected = std::mem::take(&mut self.model.dead);
        for _letter in 0..expected.len() {
            let letter = self.scene.hear(&mut reading).await?;
            let value = |name| letter.message().headers().value(name).unwrap_or("");
            let (body, reason) = (text(letter.message()), value("x-dead-reason"));
            let said = if reason == "terminated" { REASON } else { "" };
            let is_it = |dead: &DeadLetter| {
                dead.body == body
                    && dead.reason == reason
                    && said == decode_header(value("x-dead-error"))
                    && dead.consumer == value("x-dead-consumer")
                    && dead.deliveries == value("x-dead-deliveries")
            };
            let known = expected.iter().position(is_it);
            let known = known.ok_or_else(|| {
                Failure::new(format!("a dead letter that is not owed: {body:?}, {reason}"))
            })?;
            expected.remove(known);
            self.scene.soon("an ack", letter.ack()).await??;
        }
        settle().await;
        let more = pin!(reading.next()).now_or_never();
        ensure!(more.is_none(), "a dead letter too many: {more:?}");
        Ok(())
    }
}

fn count_of(reader: u64, deliveries: &[Held]) -> usize {
    let its = deliveries.iter().filter(|held| held.reader == reader);
    its.count()
}

async fn next_of(reader: &mut Reader) -> (u64, Option<Result<Delivery, ReceiveError>>) {
    (reader.id, reader.deliveries.next().await)
}
