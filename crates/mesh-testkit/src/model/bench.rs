use std::time::Duration;

use mesh_core::message::{Message, PublishId};
use mesh_core::port::{
    AppendOptions, Capability, Connection, ConsumeOptions, Deliveries, Delivery, ErrorKind, Reason,
    ReceiveError,
};
use mesh_core::topology::StreamName;

use super::state::Model;
use super::world::{IN_FLIGHT, SUBJECTS, consumers, reader_of, topology};
use super::{Operation, seconds};
use crate::fixtures::{host, subject};
use crate::suite::scene::refused;
use crate::suite::{Failure, Scene, Stage, Verdict, ensure_eq};

/// Why deliveries are terminated here.
pub(super) const REASON: &str = "no use";

/// A broker and the model beside it.
pub(super) struct Bench {
    pub(super) scene: Scene,
    pub(super) model: Model,
    shop: Connection,
    host: Connection,
    pub(super) controller: Connection,
    pub(super) readers: Vec<Reader>,
    pub(super) held: Vec<Held>,
    /// Deliveries whose claim is over. They are kept: what a late settlement does is not promised,
    /// nor whether they still count as in flight on their reader.
    pub(super) stale: Vec<Held>,
    next_reader: u64,
    appended: u64,
    pub(super) buries: bool,
}

pub(super) struct Reader {
    pub(super) id: u64,
    pub(super) consumer: usize,
    connection: Connection,
    pub(super) deliveries: Deliveries,
}

pub(super) struct Held {
    pub(super) reader: u64,
    pub(super) consumer: usize,
    pub(super) sequence: u64,
    pub(super) delivery: Delivery,
}

/// The element that an index of an operation means.
fn chosen(index: u8, count: usize) -> Option<usize> {
    usize::from(index).checked_rem(count)
}

impl Bench {
    pub(super) async fn open(stage: &Stage<'_>) -> Result<Self, Failure> {
        let scene = stage.start(&topology()).await?;
        let shop = scene.join("shop").await?;
        let host = scene.dial(host("n1"), None).await?;
        let controller = scene.controller().await?;
        Ok(Self {
            scene,
            model: Model::new(),
            shop,
            host,
            controller,
            readers: Vec::new(),
            held: Vec::new(),
            stale: Vec::new(),
            next_reader: 0,
            appended: 0,
            buries: stage.has(Capability::DeadLetters),
        })
    }

    pub(super) async fn step(&mut self, operation: Operation) -> Verdict {
        match operation {
            Operation::Append { subject, id } => self.append(subject, id).await?,
            Operation::Attach { consumer } => self.attach(usize::from(consumer) % 3).await?,
            Operation::Detach { reader } => self.detach(reader).await?,
            Operation::Reconnect { reader } => self.reconnect(reader).await?,
            Operation::Ack { held } => {
                if let Some(held) = self.take(held) {
                    self.model.settle(held.consumer, held.sequence);
                    self.scene.soon("an ack", held.delivery.ack()).await??;
                    self.flush(held.reader).await?;
                }
            }
            Operation::Nak { held, delay } => {
                if let Some(held) = self.take(held) {
                    let delay = delay.map(seconds);
                    let wait = delay.unwrap_or_default();
                    self.model.give_back(held.consumer, held.sequence, wait);
                    self.scene.soon("a nak", held.delivery.nak(delay)).await??;
                    self.flush(held.reader).await?;
                }
            }
            Operation::Terminate { held } => {
                if let Some(held) = self.take(held) {
                    self.model.terminate(held.consumer, held.sequence);
                    let terminating = held.delivery.terminate(Reason::new(REASON));
                    self.scene.soon("terminate", terminating).await??;
                    self.flush(held.reader).await?;
                }
            }
            Operation::Progress { held } => self.progress(held).await?,
            Operation::Drop { held } => {
                if let Some(held) = self.take(held) {
                    let reader = held.reader;
                    self.give_back(held);
                    self.flush(reader).await?;
                }
            }
            Operation::Advance { seconds: count } => self.advance(seconds(count)).await?,
            Operation::Retire { consumer } => self.retire(usize::from(consumer) % 3).await?,
        }
        self.drain().await?;
        self.count().await
    }

    fn take(&mut self, index: u8) -> Option<Held> {
        let index = chosen(index, self.held.len())?;
        Some(self.held.remove(index))
    }

    /// Sees to it that what that reader settled is settled on the broker.
    async fn flush(&self, reader: u64) -> Verdict {
        match self.readers.iter().find(|other| other.id == reader) {
            Some(reader) => self.scene.flush(&reader.connection).await,
            None => Ok(()),
        }
    }

    /// Drops a delivery.
    fn give_back(&mut self, held: Held) {
        drop(held.delivery);
        let (consumer, sequence) = (held.consumer, held.sequence);
        self.model.give_back(consumer, sequence, Duration::ZERO);
    }

    async fn append(&mut self, to: u8, id: Option<u8>) -> Verdict {
        let (to, stream) = SUBJECTS[usize::from(to) % SUBJECTS.len()];
        self.appended += 1;
        let body = format!("message {}", self.appended);
        let message = Message::new(subject(to), body.clone());
        let expected = self.model.append(stream, message.subject(), &body, id);
        let id = id.map(|id| PublishId::new(format!("id-{id}"))).transpose()?;
        let options = AppendOptions { id, ..AppendOptions::default() };
        let connection = match stream {
            StreamName::Control => &self.host,
            _ => &self.shop,
        };
        let appending = connection.streams()?.append(message, options);
        let appended = self.scene.soon("append", appending).await??;
        ensure_eq!(appended.stream, stream, "stream");
        let found = (appended.sequence.unwrap_or(0), appended.duplicate);
        ensure_eq!(found, expected, "sequence and duplicate");
        Ok(())
    }

    async fn attach(&mut self, consumer: usize) -> Verdict {
        const MOST: usize = 4;
        if self.readers.len() >= MOST {
            return Ok(());
        }
        let connection = self.scene.dial(reader_of(consumer), None).await?;
        let of = consumers()[consumer].reference.clone();
        let options = ConsumeOptions {
            in_flight: std::num::NonZeroUsize::MIN.saturating_add(IN_FLIGHT - 1),
            ..ConsumeOptions::default()
        };
        let result = self.scene.try_consume(&connection, &of, options).await?;
        if self.model.consumer(consumer).is_none() {
            return refused(result, ErrorKind::NotFound, "reading what is retired");
        }
        self.next_reader += 1;
        self.readers.push(Reader {
            id: self.next_reader,
            consumer,
            connection,
            deliveries: result?,
        });
        Ok(())
    }

    /// Removes a reader and hands out what it holds.
    fn leave(&mut self, index: u8) -> Option<(Reader, Vec<Held>)> {
        let reader = self.readers.remove(chosen(index, self.readers.len())?);
        let held = std::mem::take(&mut self.held);
        let (its, others) = held.into_iter().partition(|held| held.reader == reader.id);
        self.held = others;
        Some((reader, its))
    }

    async fn detach(&mut self, index: u8) -> Verdict {
        let Some((reader, its)) = self.leave(index) else {
            return Ok(());
        };
        for held in its {
            self.give_back(held);
        }
        self.scene.flush(&reader.connection).await
    }

    async fn reconnect(&mut self, index: u8) -> Verdict {
        let Some((reader, its)) = self.leave(index) else {
            return Ok(());
        };
        let report = self.scene.close(&reader.connection).await?;
        ensure_eq!(report.released, its.len() as u64, "released by the close");
        for held in its {
            self.model.give_back(held.consumer, held.sequence, Duration::ZERO);
            self.stale.push(held);
        }
        self.attach(reader.consumer).await
    }

    async fn progress(&mut self, index: u8) -> Verdict {
        let Some(index) = chosen(index, self.held.len()) else {
            return Ok(());
        };
        let held = &self.held[index];
        self.scene.soon("progress", held.delivery.progress()).await??;
        let now = self.model.now;
        let (consumer, sequence) = (held.consumer, held.sequence);
        if let Some(consumer) = self.model.consumer(consumer) {
            consumer.extend(sequence, now);
        }
        Ok(())
    }

    /// Lets time pass, stopping wherever it changes something, so that it does not matter whether a
    /// broker hands on at once or when it is asked.
    async fn advance(&mut self, span: Duration) -> Verdict {
        let target = self.model.now + span;
        loop {
            let due = self.model.next_due().filter(|due| *due <= target);
            let next = due.unwrap_or(target);
            self.scene.pass(next - self.model.now).await;
            for (consumer, sequence) in self.model.move_to(next) {
                let of = |held: &Held| held.consumer == consumer && held.sequence == sequence;
                if let Some(index) = self.held.iter().position(of) {
                    self.stale.push(self.held.remove(index));
                }
            }
            self.drain().await?;
            if due.is_none() {
                return Ok(());
            }
        }
    }

    async fn retire(&mut self, consumer: usize) -> Verdict {
        let was_there = self.model.consumer(consumer).is_some();
        self.model.consumers[consumer] = None;
        let of = &consumers()[consumer].reference;
        let administration = self.controller.administration()?;
        let retired = self.scene.soon("retire", administration.retire(of)).await??;
        ensure_eq!(retired, was_there, "retired");
        let readers = std::mem::take(&mut self.readers);
        let (its, others) = readers.into_iter().partition(|reader| reader.consumer == consumer);
        self.readers = others;
        let its: Vec<Reader> = its;
        for mut reader in its {
            match self.scene.told(&mut reader.deliveries).await? {
                ReceiveError::Ended(error) if error.kind() == ErrorKind::NotFound => {}
                other => return Err(Failure::new(format!("{other:?} came instead"))),
            }
        }
        let held = std::mem::take(&mut self.held);
        let (its, others) = held.into_iter().partition(|held| held.consumer == consumer);
        self.held = others;
        let its: Vec<Held> = its;
        self.stale.extend(its);
        Ok(())
    }
}
