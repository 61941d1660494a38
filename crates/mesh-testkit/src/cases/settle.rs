use std::time::Duration;

use mesh_core::port::{Capability, Delivery, ErrorKind, Reason};

use super::consume::in_flight;
use super::desk::Desk;
use crate::suite::scene::{text, unsupported};
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(consume_ack_is_final),
    case!(consume_nak_delivers_again),
    case!(consume_nak_with_a_delay_waits, DelayedNak, else a_delay_is_refused),
    case!(consume_terminate_is_final),
    case!(consume_redelivers_what_is_never_settled, ClaimTimeout, else a_claim_does_not_end),
    case!(consume_progress_extends_the_claim, ClaimTimeout),
    case!(consume_waiting_burns_no_attempt, ClaimTimeout),
    case!(consume_dropped_deliveries_are_released),
];

/// Nothing settled comes again: not to this reader after its claim would have run out, and not to
/// the next one.
async fn settled_for_good(
    desk: &Desk,
    mail: &mesh_core::port::Connection,
    mut reading: mesh_core::port::Deliveries,
) -> Verdict {
    desk.scene.pass(desk.scene.span * 2).await;
    desk.expect_only_the_sentinel(&mut reading).await?;
    desk.scene.close(mail).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    desk.expect_only_the_sentinel(&mut reading).await
}

async fn consume_ack_is_final(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.append_all(&["1", "2"]).await?;
    let (mail, mut reading) = desk.reader("mail").await?;
    desk.expect_all(&mut reading, &["1", "2"]).await?;
    settled_for_good(&desk, &mail, reading).await
}

async fn consume_terminate_is_final(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.append_all(&["1"]).await?;
    let (mail, mut reading) = desk.reader("mail").await?;
    let delivery = desk.expect(&mut reading, "1").await?;
    let terminating = delivery.terminate(Reason::new("no use"));
    desk.scene.soon("terminate", terminating).await??;
    settled_for_good(&desk, &mail, reading).await
}

async fn consume_nak_delivers_again(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    desk.append_all(&["1"]).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    for attempt in 1..=3 {
        let delivery = desk.expect(&mut reading, "1").await?;
        ensure_eq!(delivery.info().attempt, attempt, "attempt");
        ensure_eq!(delivery.is_last_attempt(), attempt == 3, "the last attempt");
        if attempt < 3 {
            desk.nak(delivery, None).await?;
        } else {
            desk.ack(delivery).await?;
        }
    }
    Ok(())
}

async fn consume_nak_with_a_delay_waits(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    desk.append_all(&["0"]).await?;
    let (mail, mut reading) = desk.reader("mail").await?;
    // Longer than any clock holds: it comes no sooner for that, or its holder is told.
    if let Err(error) = desk.expect(&mut reading, "0").await?.nak(Some(Duration::MAX)).await {
        ensure_eq!(error.kind(), ErrorKind::Invalid, "a delay that can't be kept");
        let again = desk.expect(&mut reading, "0").await?;
        desk.ack(again).await?;
    }
    desk.append_all(&["1"]).await?;
    let delay = desk.scene.span;
    let clock = mail.clock();
    let begin = clock.monotonic();
    let delivery = desk.expect(&mut reading, "1").await?;
    desk.nak(delivery, Some(delay)).await?;
    desk.append_all(&["2"]).await?;
    let mut passed = false;
    loop {
        let hearing = desk.scene.hear(&mut reading);
        let delivery = if passed {
            desk.scene.passing("a delivery", hearing).await??
        } else {
            hearing.await?
        };
        let waited = clock.monotonic().saturating_sub(begin);
        let body = text(delivery.message());
        desk.ack(delivery).await?;
        match body.as_str() {
            "2" => passed = true,
            "1" => {
                ensure!(waited >= delay, "it came after {waited:?} of {delay:?}");
                ensure!(passed, "no other message passed meanwhile");
                return Ok(());
            }
            other => return Err(Failure::new(format!("{other:?} came instead"))),
        }
    }
}

async fn a_delay_is_refused(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.append_all(&["1"]).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    let delivery = desk.expect(&mut reading, "1").await?;
    let settling = delivery.nak(Some(desk.scene.span));
    let result = desk.scene.soon("a nak", settling).await?;
    unsupported(result, Capability::DelayedNak)
}

async fn consume_redelivers_what_is_never_settled(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let (mail, mut reading) = desk.reader("mail").await?;
    let clock = mail.clock();
    let begin = clock.monotonic();
    desk.append_all(&["1"]).await?;
    let held = desk.expect(&mut reading, "1").await?;
    let again = desk.expect_passing(&mut reading, "1").await?;
    let waited = clock.monotonic().saturating_sub(begin);
    ensure!(waited >= desk.scene.span, "its claim ran out after {waited:?}");
    ensure_eq!(again.info().attempt, 2, "attempt");
    desk.ack(again).await?;
    drop(held);
    desk.expect_only_the_sentinel(&mut reading).await
}

/// Who holds it may take its time: nothing is given to another reader meanwhile.
async fn a_claim_does_not_end(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    desk.append_all(&["1"]).await?;
    let held = desk.expect(&mut reading, "1").await?;
    ensure_eq!(held.info().ack_wait, None, "claim");
    let (_other, mut other) = desk.reader("mail").await?;
    desk.scene.pass(desk.scene.span * 2).await;
    desk.append_all(&["2"]).await?;
    let next = async {
        tokio::select! {
            delivery = desk.scene.hear(&mut reading) => delivery,
            delivery = desk.scene.hear(&mut other) => delivery,
        }
    };
    let next = next.await?;
    ensure_eq!(text(next.message()), "2", "what comes after two spans");
    desk.ack(next).await?;
    desk.ack(held).await
}

async fn consume_progress_extends_the_claim(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.append_all(&["1"]).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    let held = desk.expect(&mut reading, "1").await?;
    for _quarter in 0..8 {
        desk.scene.pass(desk.scene.span / 4).await;
        desk.scene.soon("progress", held.progress()).await??;
    }
    desk.append_all(&["2"]).await?;
    let next = desk.expect(&mut reading, "2").await?;
    desk.ack(next).await?;
    desk.ack(held).await
}

async fn consume_waiting_burns_no_attempt(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let bodies: Vec<_> = (0..10).map(|number| number.to_string()).collect();
    for body in &bodies {
        desk.append_all(&[body]).await?;
    }
    let (_mail, mut reading) = desk.reader_with("mail", in_flight(2)).await?;
    let held = [desk.scene.hear(&mut reading).await?, desk.scene.hear(&mut reading).await?];
    for _quarter in 0..12 {
        desk.scene.pass(desk.scene.span / 4).await;
        for delivery in &held {
            desk.scene.soon("progress", delivery.progress()).await??;
        }
    }
    let mut found = Vec::new();
    let mut settle = async |delivery: Delivery| {
        let body = text(delivery.message());
        ensure_eq!(delivery.info().attempt, 1, format!("attempt of {body}"));
        found.push(body);
        desk.ack(delivery).await
    };
    for delivery in held {
        settle(delivery).await?;
    }
    for _waiting in 2..10 {
        settle(desk.scene.hear(&mut reading).await?).await?;
    }
    found.sort_unstable();
    ensure_eq!(found, bodies, "the deliveries");
    Ok(())
}

async fn consume_dropped_deliveries_are_released(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    desk.append_all(&["1"]).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    let delivery = desk.expect(&mut reading, "1").await?;
    drop(delivery);
    let again = desk.expect(&mut reading, "1").await?;
    desk.ack(again).await?;
    desk.expect_only_the_sentinel(&mut reading).await
}
