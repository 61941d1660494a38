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
    /// The next delivery to either while time passes, which must have this body.
    async fn expect(&mut self, body: &str) -> Result<Delivery, Failure> {
        let scene = &self.desk.scene;
        let [first, second] = &mut self.readers;
        let either = async {
            tokio::select! {
                delivery = scene.hear(first) => delivery,
                delivery = scene.hear(second) => delivery,
            }
        };
        let delivery = scene.passing("a delivery", either).await??;
        ensure_eq!(text(delivery.message()), body, "the next delivery");
        Ok(delivery)
    }

    /// The next event, let run out by whoever had it first: that delivery, and the one after it.
    async fn twice(&mut self, body: &str) -> Result<(Delivery, Delivery), Failure> {
        self.desk.append_all(&[body]).await?;
        let late = self.expect(body).await?;
        ensure_eq!(late.info().attempt, 1, "attempt");
        let again = self.expect(body).await?;
        ensure_eq!(again.info().attempt, 2, "attempt");
        Ok((late, again))
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

    // Before the other has settled it, while another message is out.
    let (late, again) = pair.twice("1").await?;
    desk.append_all(&["2"]).await?;
    let other = pair.expect("2").await?;
    pair.ack_late(late).await?;
    desk.scene.flush(&mail).await?;
    desk.scene.flush(&beside).await?;
    desk.ack(again).await?;
    desk.nak(other, None).await?;
    let other = pair.expect("2").await?;
    ensure_eq!(other.info().attempt, 2, "attempt of what was not acknowledged");
    desk.ack(other).await?;

    // After the other has.
    let (late, again) = pair.twice("3").await?;
    desk.ack(again).await?;
    pair.ack_late(late).await?;

    desk.scene.pass(desk.scene.span * 2).await;
    desk.append_all(&["sentinel"]).await?;
    let sentinel = pair.expect("sentinel").await?;
    desk.ack(sentinel).await?;
    for connection in [&mail, &beside] {
        desk.scene.flush(connection).await?;
    }
    let administration = desk.administration().await?;
    let of = events_of("mail");
    let state = desk.scene.soon("inspect", administration.inspect_consumer(&of)).await??;
    let owed = state.map(|state| state.pending + state.in_flight);
    ensure_eq!(owed, Some(0), "owed when all is settled");
    if stage.has(Capability::DeadLetters) {
        let (_controller, mut dead) = desk.controllers(StreamName::EventsDead).await?;
        desk.expect_no_more_dead(&mut dead).await?;
    }
    Ok(())
}
