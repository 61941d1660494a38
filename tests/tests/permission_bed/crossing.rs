//! What passes from one account of a split mesh into the other, on a real server and on the broker in the process.

use mesh_control::compose::{Account, User};
use mesh_core::identity::Principal;
use mesh_core::permissions::{Permissions, Side};
use mesh_core::port::Connection;
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology;
use mesh_testkit::expect::expect_soon;

use super::ground::{Memory, Real, accounts, try_it};
use super::probes::Probes;
use super::world::{SPLIT_SCOPED, Worlds};
use mesh_control::perm::Act;

const TAPS: [(&str, Account, topology::Account); 2] = [
    ("tap-bus", Account::Bus, topology::Account::Bus),
    ("tap-edge", Account::Edge, topology::Account::Edge),
];

/// Ends what a tap hears: nobody else says it, and it passes into neither account.
fn end() -> Subject {
    Subject::new("bed.end").unwrap()
}

async fn on_server(real: &mut Real, user: &User, subject: &Subject) -> [bool; 2] {
    let speaker = real.client(user.name()).await;
    speaker.publish(subject.as_str(), None, &[], b"").await.unwrap();
    assert_eq!(speaker.settle().await.unwrap().errors, [""; 0], "{} to {subject}", user.name());
    let mut heard = [false; 2];
    for ((tap, _, _), heard) in TAPS.iter().zip(&mut heard) {
        let messages = real.client(tap).await.settle().await.unwrap().messages;
        *heard = messages.iter().any(|message| message.subject == subject.as_str());
    }
    heard
}

async fn in_memory(
    speaker: &Connection,
    taps: &mut [(Connection, mesh_core::port::Subscription)],
    subject: &Subject,
) -> [bool; 2] {
    let say = |subject: Subject| Act::Publish { subject, reply: None };
    try_it(speaker, &say(subject.clone())).await.unwrap();
    let mut heard = [false; 2];
    for ((tap, listening), heard) in taps.iter_mut().zip(&mut heard) {
        try_it(tap, &say(end())).await.unwrap();
        loop {
            let message = expect_soon("the end", listening.next()).await.unwrap().unwrap();
            if *message.subject() == end() {
                break;
            }
            *heard |= message.subject() == subject;
        }
    }
    heard
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_let_through_gets_as_far_in_memory_as_on_a_server() {
    let mut worlds = Worlds::new(SPLIT_SCOPED);
    let (mut bus, mut edge, mut checks) = (0, 0, 0);
    for _ in 0..3 {
        let world = worlds.draw();
        let everything = Permissions::everything();
        let may: Vec<(&User, Permissions)> =
            world.composition.users().iter().map(|user| (user, user.permissions())).collect();
        let users = may.iter().map(|(user, may)| (user.name(), user.account(), may));
        let taps = TAPS.map(|(name, account, _)| (name, account, &everything));
        let mut real = Real::with(&accounts(&world.composition, users.chain(taps))).await;
        for (tap, ..) in TAPS {
            let tap = real.client(tap).await;
            tap.subscribe(">", None).await.unwrap();
            tap.settle().await.unwrap();
        }
        let mut memory = Memory::raise(&world.composition).await;
        let mut listening = Vec::new();
        for (name, _, account) in TAPS {
            let name = Principal::Person { name: name.parse().unwrap() };
            let broker = memory.mesh.broker();
            let tap = broker.connect_in(account, name, everything.clone()).unwrap();
            let all = Act::Subscribe { filter: Filter::new(">").unwrap(), group: None };
            let heard = try_it(&tap, &all).await.unwrap().unwrap();
            listening.push((tap, heard));
        }
        let probes = Probes::of(&world.composition);
        for user in world.composition.users() {
            // Who is on a backbone has no part in this, and what a declaration is replaced by the memory broker
            // refuses to take plainly.
            let takes_part = matches!(user.account(), Account::Bus | Account::Edge);
            for grant in user.grants().iter().filter(|_| takes_part) {
                let text = probes.concrete(&grant.rule.filter, worlds.random());
                let Ok(subject) = Subject::new(text) else { continue };
                let sends = grant.side == Side::Publish
                    && user.permissions().publish.permits(&subject)
                    && !subject.as_str().starts_with("mesh.node.");
                if !sends {
                    continue;
                }
                let said = on_server(&mut real, user, &subject).await;
                let speaker = memory.connection(user.name());
                let also = in_memory(speaker, &mut listening, &subject).await;
                // What the server takes for itself nobody hears there.
                if !["$JS.", "$SYS."].iter().any(|own| subject.as_str().starts_with(own)) {
                    assert_eq!(also, said, "{} to {subject}, in\n{}", user.name(), world.files);
                    bus += usize::from(said[0]);
                    edge += usize::from(said[1]);
                    checks += 1;
                }
            }
        }
    }
    println!("{checks} messages: {bus} reached BUS, {edge} reached EDGE");
    assert!(bus > 0 && edge > 0 && bus < checks && edge < checks);
}
