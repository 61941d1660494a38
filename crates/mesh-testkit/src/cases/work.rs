use mesh_core::port::Capability;
use mesh_core::topology::StreamName;

use super::desk::Desk;
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure_eq};

pub(super) const CASES: &[Case] =
    &[case!(consume_work_keeps_its_order), case!(consume_settled_work_is_gone)];

async fn consume_work_keeps_its_order(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    for body in ["1", "2", "3"] {
        desk.report(body).await?;
    }
    let (_controller, mut reading) = desk.controllers(StreamName::Control).await?;
    let delay = stage.has(Capability::DelayedNak).then_some(desk.scene.span);
    for body in ["1", "2"] {
        let delivery = desk.expect_passing(&mut reading, body).await?;
        desk.nak(delivery, delay).await?;
        let again = desk.expect_passing(&mut reading, body).await?;
        ensure_eq!(again.info().max_attempts, None, "most attempts");
        desk.ack(again).await?;
    }
    let last = desk.expect(&mut reading, "3").await?;
    desk.ack(last).await
}

async fn consume_settled_work_is_gone(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    desk.report("1").await?;
    let (controller, mut reading) = desk.controllers(StreamName::Control).await?;
    let delivery = desk.expect(&mut reading, "1").await?;
    desk.ack(delivery).await?;
    // Not every broker counts what a reader was given.
    desk.scene.close(&controller).await?;
    // Not before: what is on its way to a reader that leaves may wait for its claim to run out.
    desk.report("2").await?;
    let administration = desk.administration().await?;
    let inspecting = administration.inspect(StreamName::Control);
    let state = desk.scene.soon("inspect", inspecting).await??;
    let state = state.ok_or_else(|| Failure::new("the stream is not there"))?;
    ensure_eq!(state.messages, 1, "messages kept");
    let (_controller, mut reading) = desk.controllers(StreamName::Control).await?;
    let delivery = desk.expect(&mut reading, "2").await?;
    desk.ack(delivery).await
}
