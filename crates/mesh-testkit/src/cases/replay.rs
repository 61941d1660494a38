use mesh_core::dead_letter::DeadLetter;
use mesh_core::message::Message;
use mesh_core::port::{Capability, ConsumeOptions, Deliveries, Reason};
use mesh_core::topology::{ConsumerSpec, MeshSubject, StreamName, Topology};

use super::desk::{Desk, events_of, sold, topology};
use crate::fixtures::{event_name, filter, header, module_name, node};
use crate::suite::scene::same;
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(consume_delivers_a_replay_to_its_consumer_alone),
    case!(consume_dead_letters_a_replay_as_its_event, DeadLetters),
];

/// A desk whose consumers select what the topology gives a module that consumes the shop's events.
async fn desk(stage: &Stage<'_>) -> Result<Desk, Failure> {
    let mut topology = topology(stage.span() * 100);
    for module in ["mail", "crm"] {
        let named = module_name(module);
        let whole = Topology::new().with_module(&node("n1"), &named, &[filter("shop.>")])?;
        let of = events_of(module);
        if let Some((whole, spec)) = whole.consumer(&of).zip(topology.consumer(&of).cloned()) {
            let filters = whole.filters.clone();
            topology = topology.with_consumer(ConsumerSpec { filters, ..spec });
        }
    }
    Desk::with(stage, topology).await
}

/// The shop's event on its way back to the consumer of `module`.
fn replay(module: &str) -> Result<Message, Failure> {
    let subject = MeshSubject::Replay {
        consumer: events_of(module).consumer,
        module: module_name("shop"),
        event: event_name("sold"),
    };
    let (id, value) = header("x-event-id", "e-1");
    Ok(Message::new(subject.to_subject()?, module.to_owned()).with_header(id, value))
}

/// Reads as the runtime of `module` does: what it consumes, and what is sent back to it.
async fn reader(desk: &Desk, module: &str) -> Result<Deliveries, Failure> {
    let consumer = events_of(module).consumer;
    let patterns = vec![filter(&format!("mesh.replay.{consumer}.>")), filter("mesh.events.shop.>")];
    let options = ConsumeOptions { patterns, ..ConsumeOptions::default() };
    Ok(desk.reader_with(module, options).await?.1)
}

async fn consume_delivers_a_replay_to_its_consumer_alone(stage: &Stage<'_>) -> Verdict {
    let desk = desk(stage).await?;
    let controller = desk.scene.controller().await?;
    let mut readers = [reader(&desk, "mail").await?, reader(&desk, "crm").await?];
    let log = desk.scene.join("log").await?;
    let mut live = desk.scene.subscribe(&log, "mesh.events.shop.sold").await?;
    for (index, module) in ["mail", "crm"].into_iter().enumerate() {
        let sent = replay(module)?;
        let appended = desk.scene.append(&controller, sent.clone()).await?;
        ensure_eq!(appended.stream, StreamName::Events, "stream");
        let delivery = desk.scene.hear(&mut readers[index]).await?;
        same(delivery.message(), &sent)?;
        ensure_eq!(delivery.info().attempt, 1, "attempt");
        desk.ack(delivery).await?;
        desk.append_all(&["sentinel"]).await?;
        for reading in &mut readers {
            let delivery = desk.expect(reading, "sentinel").await?;
            desk.ack(delivery).await?;
        }
        if stage.has(Capability::Sequences) {
            let heard = desk.scene.hear(&mut live).await?;
            same(&heard, &sold("sentinel"))?;
        }
    }
    Ok(())
}

async fn consume_dead_letters_a_replay_as_its_event(stage: &Stage<'_>) -> Verdict {
    let desk = desk(stage).await?;
    let (controller, mut dead) = desk.controllers(StreamName::EventsDead).await?;
    let mut reading = reader(&desk, "mail").await?;
    let sent = replay("mail")?;
    desk.scene.append(&controller, sent.clone()).await?;
    let delivery = desk.scene.hear(&mut reading).await?;
    let terminating = delivery.terminate(Reason::new("still no use"));
    desk.scene.soon("terminate", terminating).await??;
    let hearing = desk.scene.hear(&mut dead);
    let letter = desk.scene.passing("a dead letter", hearing).await??;
    let read = DeadLetter::parse(letter.message())?;
    ensure_eq!(read.subject, Some(sold("").subject().clone()), "x-dead-subject");
    let again = DeadLetter::replay(letter.message())?;
    same(&again, &sent)?;
    desk.ack(letter).await
}
