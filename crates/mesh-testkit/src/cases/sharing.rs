use mesh_core::port::Deliveries;

use super::desk::Desk;
use crate::suite::scene::text;
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(consume_readers_share),
    case!(consume_consumers_are_independent),
    case!(consume_hands_over_when_a_reader_leaves),
];

/// Takes one delivery from either reader, and acknowledges it.
async fn from_either(
    desk: &Desk,
    first: &mut Deliveries,
    second: &mut Deliveries,
) -> Result<String, Failure> {
    let delivery = tokio::select! {
        delivery = desk.scene.hear(first) => delivery?,
        delivery = desk.scene.hear(second) => delivery?,
    };
    let body = text(delivery.message());
    desk.ack(delivery).await?;
    Ok(body)
}

async fn consume_readers_share(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    let (_mail, mut first) = desk.reader("mail").await?;
    let (_another, mut second) = desk.reader("mail").await?;
    let numbers: Vec<_> = (0..20).map(|number| format!("{number:02}")).collect();
    for number in &numbers {
        desk.append_all(&[number]).await?;
    }
    let mut heard = Vec::new();
    for _ in 0..20 {
        heard.push(from_either(&desk, &mut first, &mut second).await?);
    }
    heard.sort_unstable();
    ensure_eq!(heard, numbers, "what the readers were given together");
    desk.append_all(&["sentinel"]).await?;
    let next = from_either(&desk, &mut first, &mut second).await?;
    ensure_eq!(next, "sentinel", "the next delivery");
    Ok(())
}

async fn consume_consumers_are_independent(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    desk.append_all(&["1", "2"]).await?;
    let (_mail, mut of_mail) = desk.reader("mail").await?;
    desk.expect_all(&mut of_mail, &["1", "2"]).await?;
    let (_crm, mut of_crm) = desk.reader("crm").await?;
    desk.expect_all(&mut of_crm, &["1", "2"]).await?;
    desk.append_all(&["3"]).await?;
    for reading in [&mut of_mail, &mut of_crm] {
        desk.expect_all(reading, &["3"]).await?;
    }
    Ok(())
}

async fn consume_hands_over_when_a_reader_leaves(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    desk.append_all(&["1", "2", "3"]).await?;
    let (mail, mut leaving) = desk.reader("mail").await?;
    let held = desk.expect(&mut leaving, "1").await?;
    drop(leaving);
    desk.scene.flush(&mail).await?;
    let (_another, mut staying) = desk.reader("mail").await?;
    desk.expect_all(&mut staying, &["2", "3"]).await?;
    desk.expect_only_the_sentinel(&mut staying).await?;
    drop(held);
    let again = desk.expect(&mut staying, "1").await?;
    ensure_eq!(again.info().attempt, 2, "attempt");
    desk.ack(again).await
}
