use std::time::Duration;

use mesh_core::message::PublishId;
use mesh_core::port::{AppendOptions, Appended, Capability};
use mesh_core::topology::StreamName;

use super::desk::{Desk, sold, topology};
use crate::fixtures::with_stream;
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure};

pub(super) const CASES: &[Case] =
    &[case!(append_of_an_id_after_its_window_is_stored, Deduplication)];

/// How often it is tried, four times a window, before the broker counts as one that never forgets.
const TRIES: u32 = 12;

async fn append(desk: &Desk, body: &str) -> Result<Appended, Failure> {
    let options = AppendOptions {
        id: Some(PublishId::new("a")?),
        require_deduplication: true,
        ..AppendOptions::default()
    };
    let appending = desk.shop.streams()?.append(sold(body), options);
    Ok(desk.scene.soon("append", appending).await??)
}

async fn append_of_an_id_after_its_window_is_stored(stage: &Stage<'_>) -> Verdict {
    let window = stage.span();
    let topology = with_stream(topology(stage.span() * 100), StreamName::Events, |events| {
        events.deduplication_window = window;
    });
    let desk = Desk::with(stage, topology).await?;
    let clock = desk.shop.clock();
    let begin = clock.monotonic();
    let first = append(&desk, "first").await?;
    let (anew, waited) = taken_anew(&desk, begin).await?;
    ensure!(waited >= window, "it was stored again after {waited:?} of {window:?}");
    let later = !stage.has(Capability::Sequences) || anew.sequence > first.sequence;
    ensure!(later, "the first is {first:?}, the next {anew:?}");
    let (_mail, mut reading) = desk.reader("mail").await?;
    for body in ["first", "anew"] {
        let delivery = desk.expect(&mut reading, body).await?;
        desk.ack(delivery).await?;
    }
    desk.expect_only_the_sentinel(&mut reading).await
}

/// Repeats the append while time passes, until it is stored; and when that was.
async fn taken_anew(desk: &Desk, begin: Duration) -> Result<(Appended, Duration), Failure> {
    for _ in 0..TRIES {
        desk.scene.pass(desk.scene.span / 4).await;
        let appended = append(desk, "anew").await?;
        if !appended.duplicate {
            return Ok((appended, desk.shop.clock().monotonic().saturating_sub(begin)));
        }
    }
    Err(Failure::new("the id is a duplicate for ever"))
}
