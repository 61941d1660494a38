//! Whoever has little, and tries all that others have: each right of each other user, one by one.

use mesh_core::permissions::Rules;
use mesh_core::subject::{Filter, Subject};
use mesh_testkit::servers::nats::RawNats;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Mode, Started, TAP};
use crate::steps::{no_publish, no_subscription};

pub const ATTACKS: &[Attack] = &[
    attack!(act_with_empty_lists, by "a module whose manifest lists nothing",
        "tries every right that anybody else has"),
    attack!(leak_an_enrolment, by "whoever found an enrolment token",
        "tries every right that anybody else has"),
    attack!(reach_the_mesh_as_a_gateway, by "a gateway of a realm",
        "tries every right that anybody of the mesh has, from the backbone's account"),
    attack!(reach_the_mesh_as_a_gateway_in_edge, by "a gateway of a realm that was put into EDGE",
        "the same from there"),
    attack!(reach_the_backbone, by "a module, a host, a person who may call all tools",
        "publishes to the mailboxes of realms, and listens there"),
];

const GATEWAY: &str = "gateway.gw1";

/// A subject that the filter matches.
fn literal(filter: &Filter) -> Started<Subject> {
    let tokens = filter.as_str().split('.').map(|token| match token {
        "*" | ">" => "x",
        token => token,
    });
    Ok(Subject::new(tokens.collect::<Vec<_>>().join("."))?)
}

/// Tries what everybody but `who` may, and does not find anything that it may not.
async fn everything_of_others(bed: &Bed, who: &str) -> Verdict {
    let mine = bed.user(who).permissions.clone();
    let mut raw = bed.raw(who).await?;
    let mut tried = 0;
    for other in bed.layout.users().iter().filter(|user| ![who, TAP].contains(&user.name())) {
        tried += publish_all(&mut raw, &mine.publish, &other.permissions.publish).await?;
        tried += subscribe_all(&mut raw, &mine.subscribe, &other.permissions.subscribe).await?;
    }
    match tried {
        0..60 => Err(format!("only {tried} rights were tried").into()),
        _ => Ok(Outcome::Refused),
    }
}

async fn publish_all(raw: &mut RawNats, mine: &Rules, theirs: &Rules) -> Started<usize> {
    let mut tried = 0;
    for rule in theirs.allowed() {
        let subject = literal(&rule.filter)?;
        if mine.permits(&subject) {
            continue;
        }
        raw.publish(subject.as_str(), None, &[], b"{}").await?;
        let errors = raw.settle().await?.errors;
        if errors != [no_publish(subject.as_str())] {
            return Err(format!("publish to {subject}: {errors:?}").into());
        }
        tried += 1;
    }
    Ok(tried)
}

async fn subscribe_all(raw: &mut RawNats, mine: &Rules, theirs: &Rules) -> Started<usize> {
    let mut tried = 0;
    for rule in theirs.allowed().iter().filter(|rule| !mine.allowed().contains(rule)) {
        let group = rule.group.as_ref().map(ToString::to_string);
        let (filter, group) = (rule.filter.as_str(), group.as_deref());
        raw.subscribe(filter, group).await?;
        let errors = raw.settle().await?.errors;
        if errors != [no_subscription(filter, group)] {
            return Err(format!("subscription to {filter} {group:?}: {errors:?}").into());
        }
        tried += 1;
    }
    Ok(tried)
}

async fn act_with_empty_lists(mode: Mode) -> Verdict {
    everything_of_others(&bed(mode).await?, "idle.n1").await
}

async fn leak_an_enrolment(mode: Mode) -> Verdict {
    everything_of_others(&bed(mode).await?, "enrol.t1").await
}

async fn reach_the_mesh_as_a_gateway(mode: Mode) -> Verdict {
    everything_of_others(&bed(mode).await?, GATEWAY).await
}

/// No composed file has one there.
async fn reach_the_mesh_as_a_gateway_in_edge(mode: Mode) -> Verdict {
    let mut bed = bed(mode).await?;
    let mut misplaced = bed.user(GATEWAY).clone();
    misplaced.account = bed.user("evil.n1").account;
    let layout = bed.layout.clone().with_user(misplaced);
    bed.reload(layout).await?;
    everything_of_others(&bed, GATEWAY).await
}

async fn reach_the_backbone(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let gateways = bed.user(GATEWAY).permissions.clone();
    for who in ["evil.n1", "host.n1", "person.alice"] {
        let mine = bed.user(who).permissions.clone();
        let mut raw = bed.raw(who).await?;
        let tried = publish_all(&mut raw, &mine.publish, &gateways.publish).await?
            + subscribe_all(&mut raw, &mine.subscribe, &gateways.subscribe).await?;
        if tried < 5 {
            return Err(format!("only {tried} rights were tried").into());
        }
    }
    Ok(Outcome::Refused)
}
