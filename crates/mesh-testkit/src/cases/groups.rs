use mesh_core::port::{Capability, Connection, SubscribeOptions, Subscription};

use crate::fixtures::{filter, group};
use crate::suite::scene::{text, unsupported};
use crate::suite::{Case, Failure, Scene, Stage, Verdict, case, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(subscribe_group_gives_each_message_to_one_member, QueueGroups, else a_group_is_refused),
    case!(subscribe_groups_are_independent, QueueGroups),
    case!(subscribe_group_passes_over_a_member_that_left, QueueGroups),
];

fn member_of(name: &str) -> SubscribeOptions {
    SubscribeOptions { group: Some(group(name)), ..SubscribeOptions::default() }
}

type Member = (Connection, Subscription);

async fn member(scene: &Scene, module: &str, options: SubscribeOptions) -> Result<Member, Failure> {
    let connection = scene.join(module).await?;
    let subscription = scene.subscribe_with(&connection, "test.a", options).await?;
    Ok((connection, subscription))
}

async fn publish_numbers(scene: &Scene, count: u64) -> Verdict {
    let shop = scene.join("shop").await?;
    scene.publish_numbers(&shop, "test.a", count).await?;
    scene.flush(&shop).await
}

/// Fails unless these members together heard each number once.
async fn share(scene: &Scene, members: Vec<Member>, count: u64) -> Verdict {
    let mut heard = Vec::new();
    for (connection, subscription) in members {
        let rest = scene.rest(&connection, subscription).await?;
        for message in &rest {
            heard.push(text(message).parse::<u64>()?);
        }
    }
    heard.sort_unstable();
    let expected: Vec<_> = (0..count).collect();
    ensure_eq!(heard, expected, "what the members heard together");
    Ok(())
}

async fn subscribe_group_gives_each_message_to_one_member(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mut members = Vec::new();
    for module in ["mail", "crm", "mail"] {
        members.push(member(&scene, module, member_of("g")).await?);
    }
    publish_numbers(&scene, 30).await?;
    share(&scene, members, 30).await
}

async fn a_group_is_refused(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mail = scene.join("mail").await?;
    let subscribing = mail.transport().subscribe(filter("test.a"), member_of("g"));
    let result = scene.soon("subscribe", subscribing).await?;
    unsupported(result, Capability::QueueGroups)
}

async fn subscribe_groups_are_independent(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mut sets = Vec::new();
    for options in [member_of("g"), member_of("h")] {
        let first = member(&scene, "mail", options.clone()).await?;
        sets.push(vec![first, member(&scene, "crm", options).await?]);
    }
    for module in ["mail", "crm"] {
        sets.push(vec![member(&scene, module, Default::default()).await?]);
    }
    publish_numbers(&scene, 10).await?;
    for members in sets {
        share(&scene, members, 10).await?;
    }
    Ok(())
}

async fn subscribe_group_passes_over_a_member_that_left(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, leaving) = member(&scene, "mail", member_of("g")).await?;
    let staying = member(&scene, "crm", member_of("g")).await?;
    let (closing, _its_subscription) = member(&scene, "log", member_of("g")).await?;
    drop(leaving);
    scene.flush(&mail).await?;
    scene.close(&closing).await?;
    publish_numbers(&scene, 10).await?;
    share(&scene, vec![staying], 10).await
}
