//! Whoever serves is asked, with reply addresses of all kinds, and tries to answer: in both ways to answer it is let
//! through as often on a real server as on the broker in the process, and as often as its files say.

use mesh_control::compose::{Composition, User};
use mesh_control::perm::{Act, can};
use mesh_core::permissions::Side;
use mesh_core::subject::{Filter, Subject};

use super::compare::Tally;
use super::ground::{Memory, Real, Told, of, try_it};
use super::world::World;

/// How many times each answers: once more than its budget, and once more again.
const ANSWERS: usize = 4;

/// Who is asked what, by whom.
struct Asked<'c> {
    user: &'c User,
    caller: &'c User,
    tool: Subject,
}

/// Each user who serves, with one tool of its and one who may call that.
fn asked(composition: &Composition) -> Vec<Asked<'_>> {
    let of_user = |user| {
        let serves = |user: &User| {
            let grants = user.grants().iter();
            let mut tools = grants.filter(|grant| {
                grant.side == Side::Subscribe && grant.rule.group.as_ref().is_some_and(is_serve)
            });
            tools.find_map(|grant| {
                let tool = grant.rule.filter.as_subject()?;
                let callers = composition.users().iter();
                let mut callers = callers.filter(|caller| caller.name() != user.name());
                let may = |caller: &&User| {
                    caller.account() == user.account()
                        && caller.permissions().publish.permits(&tool)
                };
                Some((callers.find(may)?, tool))
            })
        };
        let (caller, tool) = serves(user)?;
        Some(Asked { user, caller, tool })
    };
    composition.users().iter().filter_map(of_user).collect()
}

fn is_serve(group: &mesh_core::port::QueueGroup) -> bool {
    group.as_str() == "serve"
}

/// Where a caller may want an answer.
fn replies(Asked { user, caller, .. }: &Asked<'_>) -> Vec<Subject> {
    let (what, which) = caller.principal().inbox_tokens();
    let (responder, node) = user.principal().inbox_tokens();
    let texts = [
        format!("_INBOX.{what}.{which}.{responder}.{:032x}", 1),
        format!("_INBOX.{what}.{which}.{responder}x.{:032x}", 2),
        format!("_INBOX.{what}.{which}.ack.{:032x}", 3),
        "anywhere".to_owned(),
        format!("mesh.node.{node}.declare"),
        "$JS.API.STREAM.DELETE.EVENTS".to_owned(),
        format!("mesh.events.{responder}.never-said"),
        format!("mesh.tools.{responder}.provision_grant"),
    ];
    texts.into_iter().filter_map(|text| Subject::new(text).ok()).collect()
}

pub async fn answers(real: &mut Real, memory: &mut Memory, world: &World) -> Tally {
    let mut tally = Tally::default();
    for asked in asked(&world.composition) {
        for reply in replies(&asked) {
            let answer = Act::Publish { subject: reply.clone(), reply: None };
            let budget = asked.user.permissions().responses.map_or(0, |budget| budget.max as usize);
            let may = can(&world.composition, asked.user, &answer).is_allowed();
            let by_files = (0..ANSWERS)
                .map(|count| if may || count < budget { Told::Through } else { Told::Refused });
            let on_server = on_server(real, &asked, &reply, &answer).await;
            let in_memory = in_memory(memory, &asked, &reply, &answer).await;
            for ((can, real), memory) in by_files.zip(on_server).zip(in_memory) {
                let who = (asked.user.name(), asked.caller.name(), &asked.tool, &reply);
                tally.note(
                    || format!("an answer of (whom, asked by, for, to): {who:?}"),
                    [can, memory, real],
                );
            }
        }
    }
    tally
}

async fn on_server(real: &mut Real, asked: &Asked<'_>, reply: &Subject, answer: &Act) -> Vec<Told> {
    let Asked { user, caller, tool } = asked;
    let server = real.client(user.name()).await;
    let number = server.subscribe(tool.as_str(), Some("serve")).await.unwrap();
    assert_eq!(server.settle().await.unwrap().errors, [""; 0], "{} serves {tool}", user.name());
    let asking = real.client(caller.name()).await;
    asking.publish(tool.as_str(), Some(reply.as_str()), &[], b"?").await.unwrap();
    assert_eq!(asking.settle().await.unwrap().errors, [""; 0], "{} calls {tool}", caller.name());
    let server = real.client(user.name()).await;
    let heard = server.settle().await.unwrap().messages;
    assert_eq!(heard.len(), 1, "{} is asked {tool}", user.name());
    let told = real.told(user.name(), &vec![answer.clone(); ANSWERS]).await;
    let server = real.client(user.name()).await;
    server.send(format!("UNSUB {number}\r\n")).await.unwrap();
    server.settle().await.unwrap();
    told
}

async fn in_memory(
    memory: &mut Memory,
    asked: &Asked<'_>,
    reply: &Subject,
    answer: &Act,
) -> Vec<Told> {
    let Asked { user, caller, tool } = asked;
    let serve = Act::Subscribe {
        filter: Filter::from(tool.clone()),
        group: Some(mesh_core::port::QueueGroup::serve()),
    };
    let serving = try_it(memory.connection(user.name()), &serve).await.unwrap();
    let ask = Act::Publish { subject: tool.clone(), reply: Some(reply.clone()) };
    assert_eq!(of(try_it(memory.connection(caller.name()), &ask).await.map(drop)), Told::Through);
    let told = memory.told(user.name(), &vec![answer.clone(); ANSWERS]).await;
    drop(serving);
    told
}
