use std::num::NonZeroUsize;

use mesh_core::port::{ReceiveError, SubscribeOptions};

use crate::fixtures::message;
use crate::suite::scene::text;
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] =
    &[case!(subscribe_tells_a_slow_reader_what_it_lost), case!(subscribe_isolates_a_slow_reader)];

const SENT: u64 = 64;

fn small_buffer() -> SubscribeOptions {
    SubscribeOptions { buffer: NonZeroUsize::MIN.saturating_add(3), ..SubscribeOptions::default() }
}

async fn subscribe_tells_a_slow_reader_what_it_lost(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut slow = scene.subscribe_with(&mail, "test.a", small_buffer()).await?;
    scene.publish_numbers(&shop, "test.a", SENT).await?;
    scene.flush(&shop).await?;
    scene.flush(&mail).await?;
    let (mut read, mut told) = (0, 0);
    while read + told < SENT {
        match scene.item(&mut slow).await? {
            Some(Ok(heard)) => {
                // The newest are dropped, so what is read is the beginning.
                ensure_eq!(text(&heard), read.to_string(), "the next message");
                read += 1;
            }
            Some(Err(ReceiveError::Lagged { lost })) => told += lost,
            other => return Err(Failure::new(format!("{other:?} came instead"))),
        }
    }
    ensure_eq!(read + told, SENT, "read and told of");
    ensure!(told > 0, "{SENT} messages fitted into a buffer of 4");
    scene.publish(&shop, message("test.a", "next")).await?;
    let heard = scene.hear(&mut slow).await?;
    ensure_eq!(text(&heard), "next", "the message after the gap");
    Ok(())
}

async fn subscribe_isolates_a_slow_reader(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, crm) = (scene.join("mail").await?, scene.join("crm").await?);
    let shop = scene.join("shop").await?;
    let _slow = scene.subscribe_with(&mail, "test.a", small_buffer()).await?;
    let mut beside = scene.subscribe(&mail, "test.a").await?;
    let mut elsewhere = scene.subscribe(&crm, "test.a").await?;
    scene.publish_numbers(&shop, "test.a", SENT).await?;
    for quick in [&mut beside, &mut elsewhere] {
        scene.hear_numbers(quick, SENT).await?;
    }
    Ok(())
}
