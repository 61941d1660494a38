use mesh_core::port::{Capability, CloseReport, Connection, ErrorKind, Reason};

use super::desk::{Desk, events_of};
use super::request::{Counter, call, echo};
use crate::fixtures::message;
use crate::suite::scene::{closed, refused, text};
use crate::suite::{Case, Failure, Scene, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(flush_proves_what_was_sent),
    case!(flush_proves_what_was_settled, DurableConsumers),
    case!(flush_after_close_is_closed),
    case!(close_delivers_what_was_accepted),
    case!(close_delivers_what_was_answered, Requests),
    case!(close_ends_its_subscriptions),
    case!(close_leaves_nobody, ReceiverCheck),
    case!(close_releases_what_is_unsettled, DurableConsumers),
    case!(close_twice_is_harmless),
    case!(close_by_two_at_once_adds_up),
];

async fn flush_proves_what_was_sent(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let crm = scene.join("crm").await?;
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    for number in 0..20 {
        let (before, after) = (format!("before {number}"), format!("after {number}"));
        scene.publish(&shop, message("test.a", &before)).await?;
        scene.flush(&shop).await?;
        scene.publish(&crm, message("test.a", &after)).await?;
        scene.flush(&crm).await?;
        for expected in [before, after] {
            let heard = scene.hear(&mut subscription).await?;
            ensure_eq!(text(&heard), expected, "the next message");
        }
    }
    Ok(())
}

async fn flush_proves_what_was_settled(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    let administration = desk.administration().await?;
    let (mail, mut reading) = desk.reader("mail").await?;
    for number in 0..4 {
        desk.append_all(&["event"]).await?;
        let delivery = desk.expect(&mut reading, "event").await?;
        if number % 2 == 0 {
            desk.ack(delivery).await?;
        } else {
            let terminating = delivery.terminate(Reason::new("no use"));
            desk.scene.soon("terminate", terminating).await??;
        }
        desk.scene.flush(&mail).await?;
        let of = events_of("mail");
        let inspecting = administration.inspect_consumer(&of);
        let state = desk.scene.soon("inspect", inspecting).await??;
        let owed = state.map(|state| state.owed());
        ensure_eq!(owed, Some(0), "owed after a flush");
    }
    drop(reading);
    let (_another, mut reading) = desk.reader("mail").await?;
    desk.expect_only_the_sentinel(&mut reading).await
}

async fn flush_after_close_is_closed(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let shop = scene.join("shop").await?;
    scene.close(&shop).await?;
    let flushing = shop.transport().flush(scene.patience());
    closed(scene.soon("flush", flushing).await?, "flush")
}

async fn close_delivers_what_was_accepted(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    scene.publish_numbers(&shop, "test.a", 200).await?;
    let report = scene.close(&shop).await?;
    ensure_eq!(report.lost, 0, "lost by the close");
    scene.hear_numbers(&mut subscription, 200).await
}

async fn close_delivers_what_was_answered(stage: &Stage<'_>) -> Verdict {
    let Counter { scene, mail, mut calls, crm } = Counter::open(stage).await?;
    let asking = scene.ask(&crm, call("1"), scene.patience());
    let closing = async {
        echo(scene.hear(&mut calls).await?).await?;
        scene.close(&mail).await
    };
    let (answer, report) = tokio::join!(asking, closing);
    ensure_eq!(report?.lost, 0, "lost by the close");
    ensure_eq!(text(&answer??), "1", "the answer");
    Ok(())
}

async fn close_ends_its_subscriptions(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    scene.publish_numbers(&shop, "test.a", 3).await?;
    scene.flush(&shop).await?;
    scene.flush(&mail).await?;
    scene.close(&mail).await?;
    scene.hear_numbers(&mut subscription, 3).await?;
    let end = scene.item(&mut subscription).await?;
    ensure!(end.is_none(), "instead of the end came {end:?}");
    Ok(())
}

async fn close_leaves_nobody(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let shop = scene.join("shop").await?;
    for _ in 0..10 {
        let mail = scene.join("mail").await?;
        let _subscription = scene.subscribe(&mail, "test.a").await?;
        scene.publish_to_somebody(&shop, message("test.a", "1")).await??;
        scene.close(&mail).await?;
        let nobody = scene.publish_to_somebody(&shop, message("test.a", "2")).await?;
        refused(nobody, ErrorKind::NoResponders, "publishing to who is gone")?;
    }
    Ok(())
}

async fn close_releases_what_is_unsettled(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    desk.append_all(&["1", "2"]).await?;
    let (first, mut reading) = desk.reader("mail").await?;
    let held = [desk.scene.hear(&mut reading).await?, desk.scene.hear(&mut reading).await?];
    let report = desk.scene.close(&first).await?;
    ensure_eq!(report.released, 2, "released by the close");
    let (_second, mut reading) = desk.reader("mail").await?;
    desk.expect_all(&mut reading, &["1", "2"]).await?;
    drop(held);
    Ok(())
}

async fn close_twice_is_harmless(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let _subscription = scene.subscribe(&shop, "test.a").await?;
    scene.publish(&shop, message("test.a", "1")).await?;
    scene.close(&shop).await?;
    let again = scene.close(&shop).await?;
    ensure_eq!(again, CloseReport::default(), "the second report");
    scene.flush(&mail).await
}

/// Two close it at once: what they say together.
async fn both(scene: &Scene, connection: &Connection) -> Result<CloseReport, Failure> {
    let (one, other) = tokio::join!(scene.close(connection), scene.close(connection));
    let (one, other) = (one?, other?);
    Ok(CloseReport {
        finished: one.finished + other.finished,
        released: one.released + other.released,
        lost: one.lost + other.lost,
    })
}

async fn close_by_two_at_once_adds_up(stage: &Stage<'_>) -> Verdict {
    const SENT: u64 = 50;
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    scene.publish_numbers(&shop, "test.a", SENT).await?;
    let report = both(&scene, &shop).await?;
    ensure_eq!(report.lost, 0, "lost by both");
    ensure!(report.finished <= SENT, "{} of {SENT} finished", report.finished);
    ensure_eq!(report.released, 0, "released by both");
    scene.hear_numbers(&mut subscription, SENT).await?;
    if stage.has(Capability::DurableConsumers) {
        readers_close_at_once(stage).await?;
    }
    Ok(())
}

async fn readers_close_at_once(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    desk.append_all(&["1", "2"]).await?;
    let (first, mut reading) = desk.reader("mail").await?;
    let held = [desk.scene.hear(&mut reading).await?, desk.scene.hear(&mut reading).await?];
    let report = both(&desk.scene, &first).await?;
    ensure_eq!(report.released, 2, "released by both");
    let (_second, mut reading) = desk.reader("mail").await?;
    desk.expect_all(&mut reading, &["1", "2"]).await?;
    drop(held);
    Ok(())
}
