use mesh_core::port::{Capability, Deliveries, Delivery};
use mesh_core::topology::StreamName;

use super::desk::{Desk, events_of};
use crate::suite::scene::text;
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure_eq};

pub(super) const CASES: &[Case] = &[case!(consume_late_acks_touch_nothing_else, ClaimTimeout)];

/// Two readers of one consumer, each of whom may be given what the other let run out.
struct Pair<'a> {
    desk: &'a Desk,
    readers: [Deliveries; 2],
}

impl Pair<'_> {
    /// The next delivery to either while time passes.
    async fn next(&mut self) -> Result<Delivery, Failure> {
        let scene = &self.desk.scene;
        let [first, second] = &mut self.readers;
        let either = async {
            tokio::select! {
                delivery = scene.hear(first) => delivery,
                delivery = scene.hear(second) => delivery,
            }
        };
        scene.passing("a delivery", either).await?
    }

    /// The same, which must have this body.
    async fn expect(&mut self, body: &str) -> Result<Delivery, Failure> {
        let delivery = self.next().await?;
        ensure_eq!(text(delivery.message()), body, "the next delivery");
        Ok(delivery)
    }

    /// The next delivery of each of these, in any order, as this attempt.
    async fn expect_both(
        &mut self,
        bodies: [&str; 2],
        attempt: u32,
    ) -> Result<[Delivery; 2], Failure> {
        let mut both = [self.next().await?, self.next().await?];
        both.sort_by_key(|delivery| text(delivery.message()));
        for (delivery, body) in both.iter().zip(bodies) {
            ensure_eq!(text(delivery.message()), body, "the next deliveries");
            ensure_eq!(delivery.info().attempt, attempt, format!("attempt of {body}"));
        }
        Ok(both)
    }

    /// Acknowledges too late. Whether that is an error is the broker's affair.
    async fn ack_late(&self, late: Delivery) -> Verdict {
        let _ = self.desk.scene.soon("a late acknowledgement", late.ack()).await?;
        Ok(())
    }
}

async fn consume_late_acks_touch_nothing_else(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let (mail, first) = desk.reader("mail").await?;
    let (beside, second) = desk.reader("mail").await?;
    let mut pair = Pair { desk: &desk, readers: [first, second] };

    desk.append_all(&["1", "2"]).await?;
    let [late, later] = pair.expect_both(["1", "2"], 1).await?;
    let [again, once_more] = pair.expect_both(["1", "2"], 2).await?;
    desk.append_all(&["3"]).await?;
    let other = pair.expect("3").await?;

    // One before and one after who was given it since, while another message is out.
    pair.ack_late(late).await?;
    desk.ack(once_more).await?;
    pair.ack_late(later).await?;
    for connection in [&mail, &beside] {
        desk.scene.flush(connection).await?;
    }
    desk.ack(again).await?;
    desk.nak(other, None).await?;
    let other = pair.expect("3").await?;
    ensure_eq!(other.info().attempt, 2, "attempt of what was not acknowledged");
    desk.ack(other).await?;

    // As long as any claim lasts, and a little more.
    desk.scene.pass(desk.scene.span * 5 / 4).await;
    desk.append_all(&["sentinel"]).await?;
    let sentinel = pair.expect("sentinel").await?;
    desk.ack(sentinel).await?;
    for connection in [&mail, &beside] {
        desk.scene.flush(connection).await?;
    }
    let administration = desk.administration().await?;
    let of = events_of("mail");
    let state = desk.scene.soon("inspect", administration.inspect_consumer(&of)).await??;
    let owed = state.map(|state| state.owed());
    ensure_eq!(owed, Some(0), "owed when all is settled");
    if stage.has(Capability::DeadLetters) {
        let (_controller, mut dead) = desk.controllers(StreamName::EventsDead).await?;
        desk.expect_no_more_dead(&mut dead).await?;
    }
    Ok(())
}
