use mesh_core::message::{Message, PublishId};
use mesh_core::port::{AppendOptions, Appended, Capability, Connection, ErrorKind, TransportError};
use mesh_core::topology::StreamName;

use super::desk::{Desk, report, shop_event, sold, topology};
use super::publish::delicate;
use crate::fixtures::{consumer, host, message, with_stream};
use crate::suite::scene::{refused, same, text, unsupported};
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(append_returns_when_the_broker_has_it, else streams_are_unsupported),
    case!(append_keeps_the_whole_message),
    case!(append_without_a_stream_is_not_found),
    case!(append_counts_up, Sequences),
    case!(append_checks_the_expected_sequence, Sequences, else a_sequence_cannot_be_expected),
    case!(append_of_a_known_id_is_a_duplicate, Deduplication, else deduplication_cannot_be_required),
    case!(append_ids_of_different_streams_are_different, Deduplication),
    case!(append_replaces_the_newest_of_its_subject, NewestPerSubject, else nodes_are_unsupported),
    case!(append_to_a_full_stream_is_full, Sequences),
    case!(append_is_heard_live, Sequences),
];

async fn append_returns_when_the_broker_has_it(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.append_all(&["1"]).await?;
    desk.scene.close(&desk.shop).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    desk.expect(&mut reading, "1").await?;
    Ok(())
}

async fn streams_are_unsupported(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let Ok(streams) = desk.shop.streams() else {
        return Ok(());
    };
    let appending = streams.append(sold("1"), AppendOptions::default());
    let result = desk.scene.soon("append", appending).await?;
    unsupported(result, Capability::DurableConsumers)?;
    let of = super::desk::events_of("shop");
    let consuming = streams.consume(of, Default::default());
    let result = desk.scene.soon("consume", consuming).await?;
    unsupported(result, Capability::DurableConsumers)
}

async fn append_keeps_the_whole_message(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    for sent in delicate("mesh.events.shop.sold") {
        desk.append(sent.clone()).await?;
        let delivery = desk.scene.hear(&mut reading).await?;
        same(delivery.message(), &sent)?;
        desk.ack(delivery).await?;
    }
    Ok(())
}

async fn append_without_a_stream_is_not_found(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    for (by, place) in [(&desk.shop, "test.nowhere"), (&desk.host, "mesh.control.n1.alive")] {
        let result = desk.scene.try_append(by, message(place, "1")).await?;
        refused(result, ErrorKind::NotFound, place)?;
    }
    Ok(())
}

async fn append_counts_up(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    for number in 1..=3 {
        let appended = desk.append(sold("")).await?;
        ensure_eq!(appended.stream, StreamName::Events, "stream");
        ensure_eq!(appended.sequence, Some(number), "sequence");
        let appended = desk.report("").await?;
        ensure_eq!(appended.stream, StreamName::Control, "stream");
        ensure_eq!(appended.sequence, Some(number), "sequence");
    }
    Ok(())
}

impl Desk {
    async fn append_with(
        &self,
        message: Message,
        options: AppendOptions,
    ) -> Result<Result<Appended, TransportError>, Failure> {
        self.append_by(&self.shop, message, options).await
    }

    async fn append_by(
        &self,
        connection: &Connection,
        message: Message,
        options: AppendOptions,
    ) -> Result<Result<Appended, TransportError>, Failure> {
        let appending = connection.streams()?.append(message, options);
        self.scene.soon("append", appending).await
    }
}

fn expecting(last: u64) -> AppendOptions {
    AppendOptions { expected_last: Some(last), ..AppendOptions::default() }
}

async fn append_checks_the_expected_sequence(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let first = desk.append_with(sold("1"), expecting(0)).await??;
    ensure_eq!(first.sequence, Some(1), "sequence");
    desk.append(shop_event("closed", "of another subject")).await?;
    for wrong in [0, 2, 7] {
        let result = desk.append_with(sold("wrong"), expecting(wrong)).await?;
        refused(result, ErrorKind::Conflict, "another last sequence")?;
    }
    let next = desk.append_with(sold("2"), expecting(1)).await??;
    ensure_eq!(next.sequence, Some(3), "sequence: nothing was stored between");
    Ok(())
}

async fn a_sequence_cannot_be_expected(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let result = desk.append_with(sold("1"), expecting(0)).await?;
    unsupported(result, Capability::Sequences)
}

fn named(id: &str) -> Result<AppendOptions, Failure> {
    Ok(AppendOptions {
        id: Some(PublishId::new(id)?),
        require_deduplication: true,
        ..AppendOptions::default()
    })
}

async fn append_of_a_known_id_is_a_duplicate(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let first = desk.append_with(sold("1"), named("a")?).await??;
    let other = desk.append_with(sold("2"), named("b")?).await??;
    let again = desk.append_with(sold("again"), named("a")?).await??;
    ensure!(!first.duplicate && !other.duplicate, "a first is a duplicate");
    ensure!(again.duplicate, "a repeat is no duplicate");
    ensure_eq!(again.sequence, first.sequence, "sequence of the repeat");
    let (_mail, mut reading) = desk.reader("mail").await?;
    desk.expect_all(&mut reading, &["1", "2"]).await?;
    desk.expect_only_the_sentinel(&mut reading).await
}

async fn deduplication_cannot_be_required(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let result = desk.append_with(sold("1"), named("a")?).await?;
    unsupported(result, Capability::Deduplication)
}

async fn append_ids_of_different_streams_are_different(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let controller = desk.scene.controller().await?;
    for (by, message) in [
        (&desk.shop, sold("1")),
        (&desk.host, report("1")),
        (&controller, message("mesh.build.request", "1")),
    ] {
        let appended = desk.append_by(by, message, named("a")?).await??;
        ensure!(!appended.duplicate, "{} knew the id", appended.stream);
    }
    Ok(())
}

async fn append_replaces_the_newest_of_its_subject(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let controller = desk.scene.controller().await?;
    for (node, body) in [("n2", "of n2"), ("n1", "old"), ("n1", "new")] {
        let place = format!("mesh.node.{node}.declare");
        desk.scene.append(&controller, message(&place, body)).await?;
    }
    for (node, body) in [("n2", "of n2"), ("n1", "new")] {
        let connection = desk.scene.dial(host(node), None).await?;
        let of = consumer(StreamName::Nodes, node);
        let mut reading = desk.scene.consume(&connection, &of).await?;
        let held = desk.expect(&mut reading, body).await?;
        let place = format!("mesh.node.{node}.declare");
        desk.scene.append(&controller, message(&place, "newer")).await?;
        let delivery = desk.expect(&mut reading, "newer").await?;
        desk.ack(delivery).await?;
        drop(held);
    }
    Ok(())
}

async fn nodes_are_unsupported(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let controller = desk.scene.controller().await?;
    let declaration = message("mesh.node.n1.declare", "1");
    let result = desk.scene.try_append(&controller, declaration).await?;
    unsupported(result, Capability::NewestPerSubject)
}

async fn append_to_a_full_stream_is_full(stage: &Stage<'_>) -> Verdict {
    // As many bytes as about eight of these messages take; and a share of three for a subject.
    let body = "x".repeat(1000);
    let topology = with_stream(topology(stage.span()), StreamName::Events, |events| {
        events.max_bytes = 8 * 1024;
        events.max_message_bytes = None;
    });
    let topology = with_stream(topology, StreamName::Control, |control| {
        control.max_messages_per_subject = Some(3);
    });
    let desk = Desk::with(stage, topology).await?;
    let mut stored = 0;
    let full = loop {
        match desk.scene.try_append(&desk.shop, sold(&body)).await? {
            Ok(_) if stored < 16 => stored += 1,
            other => break other,
        }
    };
    refused(full, ErrorKind::Full, "more bytes than the stream holds")?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    for _ in 0..stored {
        let delivery = desk.scene.hear(&mut reading).await?;
        ensure_eq!(text(delivery.message()), body, "what is stored");
        ensure_eq!(delivery.info().attempt, 1, "attempt");
        desk.ack(delivery).await?;
    }
    for body in ["1", "2", "3"] {
        desk.report(body).await?;
    }
    let full = desk.scene.try_append(&desk.host, report("4")).await?;
    refused(full, ErrorKind::Full, "more than a subject's share")?;
    let (_controller, mut reading) = desk.controllers(StreamName::Control).await?;
    for body in ["1", "2", "3"] {
        let delivery = desk.expect(&mut reading, body).await?;
        desk.ack(delivery).await?;
    }
    Ok(())
}

async fn append_is_heard_live(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let log = desk.scene.join("log").await?;
    let mut subscription = desk.scene.subscribe(&log, "mesh.events.shop.sold").await?;
    let sent = sold("1");
    desk.append(sent.clone()).await?;
    let heard = desk.scene.hear(&mut subscription).await?;
    ensure_eq!(heard.reply(), None, "reply address");
    same(&heard, &sent)
}
