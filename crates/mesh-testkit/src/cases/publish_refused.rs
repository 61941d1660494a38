use mesh_core::message::{HeaderValue, Headers, Message};
use mesh_core::permissions::Permissions;
use mesh_core::port::{Capability, Connection, ErrorKind, Limits, Subscription};

use crate::fixtures::{header, message, module, permissions, subject};
use crate::suite::scene::{closed, refused, text, unsupported};
use crate::suite::{Case, Scene, Stage, Verdict, case, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(publish_requiring_a_receiver_brings_no_reply_address, ReceiverCheck),
    case!(publish_at_the_limit_is_delivered),
    case!(publish_over_the_limit_is_too_large),
    case!(publish_of_a_repeated_header_is_invalid),
    case!(publish_of_a_broker_header_is_invalid),
    case!(publish_to_a_denied_subject_is_denied, Permissions, else permissions_are_not_ignored),
    case!(publish_with_a_broker_reply_is_denied, Permissions),
    case!(publish_after_close_is_closed),
];

async fn publish_requiring_a_receiver_brings_no_reply_address(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    let reply = subject("_INBOX.shop.n1.mail.00112233445566778899aabbccddeeff");
    let sent = message("test.a", "1").with_reply(reply);
    let result = scene.publish_to_somebody(&shop, sent).await?;
    refused(result, ErrorKind::Invalid, "a reply address")?;
    only_the_sentinel(&scene, &shop, &mut subscription).await
}

async fn publish_at_the_limit_is_delivered(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let max = shop.transport().capabilities().limits().max_payload;
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    let sent = Message::new(subject("test.a"), vec![b'x'; max]);
    scene.publish(&shop, sent).await?;
    let heard = scene.hear(&mut subscription).await?;
    ensure_eq!(heard.payload().len(), max, "bytes");
    Ok(())
}

/// A payload one byte too long, and headers over their limit.
pub(super) fn too_large(to: &str, limits: &Limits) -> [Message; 2] {
    let mut headers = Headers::default();
    while headers.wire_bytes() <= limits.max_header_bytes {
        let (name, _) = header(&format!("x-{}", headers.len()), "");
        let value = HeaderValue::new("v".repeat(4096));
        headers.set(name, value.unwrap_or_else(|_| HeaderValue::from(0)));
    }
    [
        Message::new(subject(to), vec![b'x'; limits.max_payload + 1]),
        Message::new(subject(to), "").with_headers(headers),
    ]
}

/// One header twice.
pub(super) fn repeated_header(to: &str) -> Message {
    let headers: Headers = [header("x-a", "1"), header("x-a", "2")].into_iter().collect();
    message(to, "").with_headers(headers)
}

/// One message for each kind of header that steers a broker.
pub(super) fn broker_headers(to: &str) -> Vec<Message> {
    let names = ["Nats-Rollup", "nats-msg-id", "CC", "bcc", "x-death"];
    let one = |name| {
        let (name, value) = header(name, "sub");
        message(to, "").with_header(name, value)
    };
    names.into_iter().map(one).collect()
}

async fn publish_over_the_limit_is_too_large(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    let limits = *shop.transport().capabilities().limits();
    for sent in too_large("test.a", &limits) {
        let result = scene.try_publish(&shop, sent).await?;
        refused(result, ErrorKind::TooLarge, "a message over a limit")?;
    }
    only_the_sentinel(&scene, &shop, &mut subscription).await
}

async fn publish_of_a_repeated_header_is_invalid(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    let result = scene.try_publish(&shop, repeated_header("test.a")).await?;
    refused(result, ErrorKind::Invalid, "a repeated header")?;
    only_the_sentinel(&scene, &shop, &mut subscription).await
}

async fn publish_of_a_broker_header_is_invalid(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    for sent in broker_headers("test.a") {
        let what = format!("{:?}", sent.headers());
        let result = scene.try_publish(&shop, sent).await?;
        refused(result, ErrorKind::Invalid, &what)?;
    }
    only_the_sentinel(&scene, &shop, &mut subscription).await
}

/// What was refused before was not delivered, and the connection is still usable.
async fn only_the_sentinel(
    scene: &Scene,
    publisher: &Connection,
    subscription: &mut Subscription,
) -> Verdict {
    scene.publish(publisher, message("test.a", "sentinel")).await?;
    let heard = scene.hear(subscription).await?;
    ensure_eq!(text(&heard), "sentinel", "the first message");
    Ok(())
}

async fn publish_to_a_denied_subject_is_denied(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let shop = module("n1", "shop");
    let may = permissions(&shop, &["test.allowed"], &[]);
    let shop = scene.dial(shop, Some(may)).await?;
    let mail = scene.join("mail").await?;
    let mut allowed = scene.subscribe(&mail, "test.allowed").await?;
    let mut denied = scene.subscribe(&mail, "test.denied").await?;
    for _attempt in 0..2 {
        scene.publish(&shop, message("test.allowed", "1")).await?;
        let result = scene.try_publish(&shop, message("test.denied", "1")).await?;
        refused(result, ErrorKind::Denied, "publishing where it is denied")?;
        let heard = scene.hear(&mut allowed).await?;
        ensure_eq!(text(&heard), "1", "the allowed message");
    }
    scene.publish(&mail, message("test.denied", "sentinel")).await?;
    let heard = scene.hear(&mut denied).await?;
    ensure_eq!(text(&heard), "sentinel", "the first message");
    Ok(())
}

async fn permissions_are_not_ignored(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let may = Permissions::default();
    let dialled = scene.try_dial(module("n1", "shop"), Some(may)).await?;
    unsupported(dialled, Capability::Permissions)
}

async fn publish_with_a_broker_reply_is_denied(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    for reply in ["$JS.ACK.EVENTS.n1_mail.1.1.1.1.0", "_R_.a", "$GR.a", "_GR_.a"] {
        let sent = message("test.a", "").with_reply(subject(reply));
        let result = scene.try_publish(&shop, sent).await?;
        refused(result, ErrorKind::Denied, reply)?;
    }
    only_the_sentinel(&scene, &shop, &mut subscription).await
}

async fn publish_after_close_is_closed(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let shop = scene.join("shop").await?;
    scene.close(&shop).await?;
    let result = scene.try_publish(&shop, message("test.a", "1")).await?;
    closed(result, "publish")
}
