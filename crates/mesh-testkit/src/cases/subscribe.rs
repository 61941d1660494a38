use mesh_core::permissions::{Permissions, Rules};
use mesh_core::port::{Capability, ErrorKind};
use mesh_core::topology::Inbox;

use crate::fixtures::{filter, message, module};
use crate::suite::scene::{closed, refused, text, unsupported};
use crate::suite::{Case, Scene, Stage, Verdict, case, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(subscribe_is_live_when_it_returns),
    case!(subscribe_hears_only_what_matches),
    case!(subscribe_star_is_one_token, Wildcards, else a_wildcard_is_refused),
    case!(subscribe_tail_is_one_or_more_tokens, Wildcards),
    case!(subscribe_hears_its_own_connection),
    case!(subscribe_twice_hears_twice),
    case!(subscribe_to_a_denied_subject_is_denied, Permissions),
    case!(subscribe_ends_when_dropped, ReceiverCheck),
    case!(subscribe_after_close_is_closed),
];

async fn subscribe_is_live_when_it_returns(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    for number in 0..20 {
        let place = format!("test.{number}");
        let mut subscription = scene.subscribe(&mail, &place).await?;
        scene.publish(&shop, message(&place, "first")).await?;
        let heard = scene.hear(&mut subscription).await?;
        ensure_eq!(text(&heard), "first", "the first message");
    }
    Ok(())
}

/// Of what is published to `places`, in order, the filter hears the `expected` ones.
async fn hears(stage: &Stage<'_>, filter: &str, places: &[&str], expected: &[&str]) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut subscription = scene.subscribe(&mail, filter).await?;
    for place in places {
        scene.publish(&shop, message(place, "")).await?;
    }
    for expected in expected {
        let heard = scene.hear(&mut subscription).await?;
        ensure_eq!(heard.subject().as_str(), *expected, "the next subject");
    }
    Ok(())
}

async fn subscribe_hears_only_what_matches(stage: &Stage<'_>) -> Verdict {
    let others = ["test", "test.b", "test.A", "test.a.b", "test.ab", "a.test.a"];
    let places = [&others[..], &["test.a"]].concat();
    hears(stage, "test.a", &places, &["test.a"]).await
}

async fn subscribe_star_is_one_token(stage: &Stage<'_>) -> Verdict {
    let places = ["test.x", "test.a.b.x", "test.a.y", "test.a.x", "test.b.x"];
    hears(stage, "test.*.x", &places, &["test.a.x", "test.b.x"]).await?;
    hears(stage, "*.a", &["test.a.a", "b.a"], &["b.a"]).await
}

async fn a_wildcard_is_refused(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mail = scene.join("mail").await?;
    for text in ["test.*", "test.>", ">", "*"] {
        let subscribing = mail.transport().subscribe(filter(text), Default::default());
        let result = scene.soon("subscribe", subscribing).await?;
        unsupported(result, Capability::Wildcards)?;
    }
    Ok(())
}

async fn subscribe_tail_is_one_or_more_tokens(stage: &Stage<'_>) -> Verdict {
    let places = ["test", "other.a", "test.a", "test.a.b", "test.a.b.c"];
    let expected = ["test.a", "test.a.b", "test.a.b.c"];
    hears(stage, "test.>", &places, &expected).await
}

async fn subscribe_hears_its_own_connection(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mail = scene.join("mail").await?;
    let mut subscription = scene.subscribe(&mail, "test.a").await?;
    scene.publish(&mail, message("test.a", "mine")).await?;
    let heard = scene.hear(&mut subscription).await?;
    ensure_eq!(text(&heard), "mine", "the message");
    Ok(())
}

async fn subscribe_twice_hears_twice(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let mut first = scene.subscribe(&mail, "test.a").await?;
    let mut second = scene.subscribe(&mail, "test.a").await?;
    scene.publish(&shop, message("test.a", "1")).await?;
    for subscription in [&mut first, &mut second] {
        ensure_eq!(text(&scene.hear(subscription).await?), "1", "the message");
    }
    drop(first);
    scene.flush(&mail).await?;
    scene.publish(&shop, message("test.a", "2")).await?;
    ensure_eq!(text(&scene.hear(&mut second).await?), "2", "the message");
    Ok(())
}

async fn subscribe_to_a_denied_subject_is_denied(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let may = Permissions {
        publish: Rules::everything(),
        subscribe: Rules::allow([
            filter("test.allowed.>"),
            Inbox::of(&module("n1", "mail")).filter(),
        ])
        .except([filter("test.allowed.not")]),
        responses: None,
    };
    let mail = scene.dial(module("n1", "mail"), Some(may)).await?;
    for text in ["test.denied", "test.allowed", "test.allowed.not"] {
        let subscribing = mail.transport().subscribe(filter(text), Default::default());
        let result = scene.soon("subscribe", subscribing).await?;
        refused(result, ErrorKind::Denied, text)?;
    }
    still_works(&scene, &mail, "test.allowed.a").await
}

async fn still_works(
    scene: &Scene,
    connection: &mesh_core::port::Connection,
    place: &str,
) -> Verdict {
    let mut subscription = scene.subscribe(connection, place).await?;
    scene.publish(connection, message(place, "1")).await?;
    let heard = scene.hear(&mut subscription).await?;
    ensure_eq!(text(&heard), "1", "the message");
    Ok(())
}

async fn subscribe_ends_when_dropped(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    let subscription = scene.subscribe(&mail, "test.a").await?;
    scene.publish_to_somebody(&shop, message("test.a", "1")).await??;
    drop(subscription);
    scene.flush(&mail).await?;
    let result = scene.publish_to_somebody(&shop, message("test.a", "2")).await?;
    refused(result, ErrorKind::NoResponders, "publishing to who left")
}

async fn subscribe_after_close_is_closed(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mail = scene.join("mail").await?;
    scene.close(&mail).await?;
    let subscribing = mail.transport().subscribe(filter("test.a"), Default::default());
    closed(scene.soon("subscribe", subscribing).await?, "subscribe")
}
