use mesh_core::port::{Capability, Position, Stored, TransportError};
use mesh_core::topology::StreamName;

use super::desk::{Desk, shop_event, sold};
use super::publish::delicate;
use crate::fixtures::event;
use crate::suite::scene::{same, text, unsupported};
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(read_finds_a_sequence, Sequences, else a_sequence_cannot_be_read),
    case!(read_finds_the_last_of_a_subject, Sequences),
    case!(read_of_nothing_is_none, Sequences),
];

impl Desk {
    async fn read(
        &self,
        stream: StreamName,
        position: Position,
    ) -> Result<Result<Option<Stored>, TransportError>, Failure> {
        let administration = self.administration().await?;
        let reading = administration.read(stream, position);
        self.scene.soon("read", reading).await
    }

    async fn stored(&self, stream: StreamName, position: Position) -> Result<Stored, Failure> {
        let stored = self.read(stream, position).await??;
        stored.ok_or_else(|| Failure::new("it is not there"))
    }
}

async fn read_finds_a_sequence(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let sent = delicate("mesh.events.shop.sold");
    for message in &sent {
        desk.append(message.clone()).await?;
    }
    for (sequence, message) in (1..).zip(&sent) {
        let position = Position::Sequence(sequence);
        let stored = desk.stored(StreamName::Events, position).await?;
        ensure_eq!(stored.sequence, sequence, "sequence");
        same(&stored.message, message)?;
    }
    Ok(())
}

async fn a_sequence_cannot_be_read(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.append(sold("1")).await?;
    let result = desk.read(StreamName::Events, Position::Sequence(1)).await?;
    unsupported(result, Capability::Sequences)
}

async fn read_finds_the_last_of_a_subject(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    for message in [sold("1"), sold("2"), shop_event("closed", "3")] {
        desk.append(message).await?;
    }
    for (name, sequence, body) in [("sold", 2, "2"), ("closed", 3, "3")] {
        let position = Position::LastOf(event("shop", name));
        let stored = desk.stored(StreamName::Events, position).await?;
        ensure_eq!(stored.sequence, sequence, "sequence");
        ensure_eq!(text(&stored.message), body, "the last");
    }
    Ok(())
}

async fn read_of_nothing_is_none(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.append(sold("1")).await?;
    let absent = [
        (StreamName::Events, Position::Sequence(2)),
        (StreamName::Events, Position::LastOf(event("shop", "left"))),
        (StreamName::Builds, Position::Sequence(1)),
    ];
    for (stream, position) in absent {
        let found = desk.read(stream, position.clone()).await??;
        ensure!(found.is_none(), "{stream} has {position:?}");
    }
    desk.report("1").await?;
    let (controller, mut reading) = desk.controllers(StreamName::Control).await?;
    let delivery = desk.expect(&mut reading, "1").await?;
    desk.ack(delivery).await?;
    desk.scene.flush(&controller).await?;
    let gone = desk.read(StreamName::Control, Position::Sequence(1));
    ensure!(gone.await??.is_none(), "settled work is still there");
    Ok(())
}
