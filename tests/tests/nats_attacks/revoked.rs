//! Credentials that were taken back: the server is given a configuration without them, and goes on.

use mesh_testkit::servers::nats::User;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Mode, Setup, Started};
use crate::steps::{Witness, quick};

pub const ATTACKS: &[Attack] = &[
    attack!(stay_after_a_revocation, by "a module whose user was taken away",
        "goes on with the connection that it has: the reload ends it, and nobody else's"),
    attack!(come_back_after_a_revocation, by "a module whose user was taken away",
        "logs in again"),
    attack!(come_back_with_the_secret_before, by "a module that was given another secret",
        "goes on, and logs in again, with the one before"),
    attack!(keep_what_was_delivered, by "a builder whose user was taken away",
        "has settled nothing of what it was given: another builder gets it"),
];

/// Takes the user away, and proves that somebody else's connection did not notice.
async fn revoke(bed: &mut Bed, who: &str) -> Started<()> {
    let mut neighbour = bed.raw("mute.n1").await?;
    let layout = bed.layout.clone().without_user(who);
    bed.reload(layout).await?;
    neighbour.settle().await?;
    Ok(())
}

async fn stay_after_a_revocation(mode: Mode) -> Verdict {
    let mut bed = bed(mode).await?;
    let mut raw = bed.raw("evil.n1").await?;
    raw.subscribe("mesh.deliver.EVENTS.n1_evil", Some("n1_evil")).await?;
    raw.settle().await?;
    revoke(&mut bed, "evil.n1").await?;
    raw.closed().await?;
    // What comes later was given to nobody.
    bed.raw("svc.n1").await?.publish("mesh.events.svc.made", None, &[], b"{}").await?;
    let mut witness = Witness::of(&bed).await?;
    witness.append("mesh.replay.n9_mark.a.b", "mark").await?;
    let consumer = witness.consumer("EVENTS", "n1_evil").await?.ok_or("no consumer")?;
    match consumer["num_ack_pending"].as_u64() {
        Some(0) => Ok(Outcome::Refused),
        _ => Err(consumer.to_string().into()),
    }
}

/// The user's own log-in is refused now.
fn locked_out(came: Started<mesh_testkit::servers::nats::RawNats>) -> Verdict {
    match came {
        Err(error) if error.to_string().contains("Authorization Violation") => Ok(Outcome::Refused),
        Err(error) => Err(error),
        Ok(_) => Ok(Outcome::Succeeds),
    }
}

async fn come_back_after_a_revocation(mode: Mode) -> Verdict {
    let mut bed = bed(mode).await?;
    let evil = bed.user("evil.n1").clone();
    bed.raw_as(&evil).await?;
    revoke(&mut bed, "evil.n1").await?;
    locked_out(bed.raw_as(&evil).await)
}

async fn come_back_with_the_secret_before(mode: Mode) -> Verdict {
    let mut bed = bed(mode).await?;
    let before = bed.user("evil.n1").clone();
    let mut raw = bed.raw_as(&before).await?;
    let User { account, principal, permissions, .. } = before.clone();
    let anew = User::named(before.name(), account, principal, permissions)?;
    let layout = bed.layout.clone().with_user(anew);
    bed.reload(layout).await?;
    raw.closed().await?;
    bed.raw("evil.n1").await?;
    locked_out(bed.raw_as(&before).await)
}

async fn keep_what_was_delivered(mode: Mode) -> Verdict {
    const DELIVERED: &str = "mesh.deliver.BUILDS.builder";
    let mut bed = Bed::with(Setup::of(mode), quick).await?;
    let mut first = bed.raw("builder.n1").await?;
    first.subscribe(DELIVERED, Some("builder")).await?;
    first.settle().await?;
    Witness::of(&bed).await?.append("mesh.build.request", "work").await?;
    let address = first.next().await?.reply.ok_or("a delivery without an address")?;
    if !address.starts_with("$JS.ACK.BUILDS.builder.1.") {
        return Err(format!("not the first try: {address}").into());
    }
    revoke(&mut bed, "builder.n1").await?;
    first.closed().await?;
    let mut second = bed.raw("builder.n2").await?;
    second.subscribe(DELIVERED, Some("builder")).await?;
    let again = second.next().await?;
    let address = again.reply.ok_or("a delivery without an address")?;
    match again.body.as_slice() {
        b"work" if address.starts_with("$JS.ACK.BUILDS.builder.2.") => Ok(Outcome::Survived),
        _ => Err(format!("another delivery: {address}").into()),
    }
}
