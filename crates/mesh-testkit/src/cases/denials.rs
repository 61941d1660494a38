use futures_util::future::join_all;
use mesh_core::port::{Connection, ErrorKind};

use crate::fixtures::{message, module, permissions};
use crate::suite::scene::text;
use crate::suite::{Case, Scene, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[case!(publish_denials_reach_their_own_calls, Permissions)];

const CALLS: usize = 2200;
/// Every so many, one is allowed: 200 of them.
const ALLOWED: usize = 11;
const AT_A_TIME: usize = 64;

async fn publish_denials_reach_their_own_calls(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mail = scene.join("mail").await?;
    let mut allowed = scene.subscribe(&mail, "test.allowed").await?;
    let mut denied = scene.subscribe(&mail, "test.denied.0").await?;
    let shop = module("n1", "shop");
    let may = permissions(&shop, &["test.allowed"], &[]);
    let shop = scene.dial(shop, Some(may)).await?;
    let callers = (0..AT_A_TIME).map(|first| every_so_many(&scene, &shop, first));
    join_all(callers).await.into_iter().collect::<Verdict>()?;
    let mut heard = Vec::new();
    for _ in 0..CALLS / ALLOWED {
        heard.push(text(&scene.hear(&mut allowed).await?).parse::<usize>()?);
    }
    heard.sort_unstable();
    let sent: Vec<_> = (0..CALLS).filter(|number| is_allowed(*number)).collect();
    ensure_eq!(heard, sent, "what arrived of what is allowed");
    scene.publish(&mail, message("test.denied.0", "sentinel")).await?;
    ensure_eq!(text(&scene.hear(&mut denied).await?), "sentinel", "the first message");
    Ok(())
}

fn is_allowed(number: usize) -> bool {
    number % ALLOWED == ALLOWED - 1
}

/// Makes one of the callers' calls, one after another.
async fn every_so_many(scene: &Scene, shop: &Connection, first: usize) -> Verdict {
    for number in (first..CALLS).step_by(AT_A_TIME) {
        let place = match is_allowed(number) {
            true => "test.allowed".to_owned(),
            false => format!("test.denied.{number}"),
        };
        let result = scene.try_publish(shop, message(&place, &number.to_string())).await?;
        match result {
            Ok(()) => ensure!(is_allowed(number), "{place} was accepted"),
            Err(error) => {
                let own = error.kind() == ErrorKind::Denied && error.subject() == Some(&*place);
                let right = own && !is_allowed(number);
                ensure!(right, "publishing to {place}: found \"{error}\"");
            }
        }
    }
    Ok(())
}
