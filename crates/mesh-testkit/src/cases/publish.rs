use std::collections::BTreeSet;

use futures_util::future::join_all;
use mesh_core::message::{Headers, Message};
use mesh_core::port::{Capability, ErrorKind};

use crate::fixtures::{header, message, subject};
use crate::suite::scene::{refused, same, text, unsupported};
use crate::suite::{Case, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(publish_reaches_every_subscriber),
    case!(publish_keeps_the_whole_message),
    case!(publish_keeps_the_order_of_one_publisher),
    case!(publish_without_subscribers_is_accepted),
    case!(publish_requiring_a_receiver_needs_one, ReceiverCheck, else a_receiver_cannot_be_required),
    case!(publish_requiring_a_receiver_tells_each_its_own, ReceiverCheck),
];

async fn publish_reaches_every_subscriber(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, crm) = (scene.join("mail").await?, scene.join("crm").await?);
    let shop = scene.join("shop").await?;
    let mut subscriptions = [
        scene.subscribe(&mail, "test.a").await?,
        scene.subscribe(&crm, "test.a").await?,
        scene.subscribe(&crm, "test.a").await?,
    ];
    scene.publish_numbers(&shop, "test.a", 6).await?;
    for subscription in &mut subscriptions {
        scene.hear_numbers(subscription, 6).await?;
    }
    Ok(())
}

/// Messages that are easily mangled: every byte, no byte, names that differ in case, odd values.
pub(super) fn delicate(to: &str) -> Vec<Message> {
    let headers: Headers = [
        header("X-One", "1"),
        header("x-one", "2"),
        header("a", "k=v, \"é\"; %20"),
        header("empty", ""),
    ]
    .into_iter()
    .collect();
    let every_byte: Vec<u8> = (0..=255).collect();
    vec![
        Message::new(subject(to), every_byte).with_headers(headers.clone()),
        Message::new(subject(to), "").with_headers(headers),
        Message::new(subject(to), ""),
        Message::new(subject(to), "{}"),
    ]
}

async fn publish_keeps_the_whole_message(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mail = scene.join("mail").await?;
    let shop = scene.join("shop").await?;
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    let reply = subject("_INBOX.shop.n1.mail.00112233445566778899aabbccddeeff");
    for sent in delicate("test.a") {
        for sent in [sent.clone(), sent.with_reply(reply.clone())] {
            scene.publish(&shop, sent.clone()).await?;
            let heard = scene.hear(&mut subscription).await?;
            same(&heard, &sent)?;
            ensure_eq!(heard.reply(), sent.reply(), "reply address");
        }
    }
    Ok(())
}

async fn publish_keeps_the_order_of_one_publisher(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mail = scene.join("mail").await?;
    let shop = scene.join("shop").await?;
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    scene.publish_numbers(&shop, "test.a", 100).await?;
    scene.hear_numbers(&mut subscription, 100).await
}

async fn publish_without_subscribers_is_accepted(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let shop = scene.join("shop").await?;
    let mail = scene.join("mail").await?;
    let mut subscription = scene.subscribe(&mail, "test.reply").await?;
    scene.publish(&shop, message("test.a", "1")).await?;
    scene.publish(&shop, message("test.a", "2").with_reply(subject("test.reply"))).await?;
    scene.flush(&shop).await?;
    scene.publish(&shop, message("test.reply", "sentinel")).await?;
    let heard = scene.hear(&mut subscription).await?;
    ensure_eq!(text(&heard), "sentinel", "what is heard at the reply address");
    Ok(())
}

async fn publish_requiring_a_receiver_needs_one(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let shop = scene.join("shop").await?;
    let mail = scene.join("mail").await?;
    let nobody = scene.publish_to_somebody(&shop, message("test.a", "1")).await?;
    refused(nobody, ErrorKind::NoResponders, "publishing to nobody")?;
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    let elsewhere = scene.publish_to_somebody(&shop, message("test.b", "1")).await?;
    refused(elsewhere, ErrorKind::NoResponders, "publishing elsewhere")?;
    scene.publish_to_somebody(&shop, message("test.a", "2")).await??;
    let heard = scene.hear(&mut subscription).await?;
    ensure!(text(&heard) == "2", "heard {:?}", text(&heard));
    ensure_eq!(heard.reply(), None, "reply address");
    Ok(())
}

async fn publish_requiring_a_receiver_tells_each_its_own(stage: &Stage<'_>) -> Verdict {
    const EACH: usize = 40;
    let scene = stage.live().await?;
    let shop = scene.join("shop").await?;
    let mail = scene.join("mail").await?;
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    let publishing = (0..2 * EACH).map(|number| {
        let to = if number % 2 == 0 { "test.a" } else { "test.b" };
        scene.publish_to_somebody(&shop, message(to, &number.to_string()))
    });
    for (number, told) in join_all(publishing).await.into_iter().enumerate() {
        match number % 2 {
            0 => told??,
            _ => refused(told?, ErrorKind::NoResponders, "publishing to nobody")?,
        }
    }
    let mut heard = BTreeSet::new();
    while heard.len() < EACH {
        heard.insert(text(&scene.hear(&mut subscription).await?).to_owned());
    }
    let expected: BTreeSet<_> = (0..EACH).map(|number| (2 * number).to_string()).collect();
    ensure_eq!(heard, expected, "what is heard");
    Ok(())
}

async fn a_receiver_cannot_be_required(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let shop = scene.join("shop").await?;
    let _subscription = scene.subscribe(&shop, "test.a").await?;
    let result = scene.publish_to_somebody(&shop, message("test.a", "1")).await?;
    unsupported(result, Capability::ReceiverCheck)
}
