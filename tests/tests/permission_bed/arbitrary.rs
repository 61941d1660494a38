//! Permissions of any kind, also those that nobody composes: rules that overlap, groups beside plain rules, denials
//! in part. Over an alphabet so small that they meet, a real server and the broker in the process say the same, and
//! let the same be heard.

use std::sync::Arc;

use mesh_clock::SystemClock;
use mesh_control::compose::{Account, Accounts, Composition, More, Source};
use mesh_control::perm::Act;
use mesh_core::identity::Principal;
use mesh_core::permissions::{Permissions, Rules};
use mesh_core::port::{Connection, QueueGroup};
use mesh_core::subject::{Filter, Subject};
use mesh_testkit::expect::expect_soon;
use mesh_testkit::strategies::{few_filters, few_subjects, permissions};
use mesh_transport_mem::InMemoryDurableBroker;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::compare::Tally;
use super::ground::{Real, Told, accounts, of, try_it};
use super::world::{checks, seed};

/// How many users a server has.
const USERS: usize = 40;
/// How many filters each holds while everything is said.
const HELD: usize = 4;

fn runner() -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed().to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn act() -> impl Strategy<Value = Act> {
    let group = prop::sample::select(&["g", "h", "i", "_sys_"][..]);
    let group = group.prop_map(|name| QueueGroup::new(name).unwrap());
    let reply = prop::sample::select(&["a", "_R_.a", "$JS.ACK.a", "_GR_.a", "$JS.API.a"][..]);
    let reply = reply.prop_map(|text| Subject::new(text).unwrap());
    prop_oneof![
        (few_subjects(), prop::option::weighted(0.3, reply))
            .prop_map(|(subject, reply)| Act::Publish { subject, reply }),
        (few_filters(), prop::option::of(group))
            .prop_map(|(filter, group)| Act::Subscribe { filter, group }),
    ]
}

/// To publish one is in no group, and a server takes no rule that says otherwise.
fn any_permissions(runner: &mut TestRunner) -> Permissions {
    let may = permissions().new_tree(runner).unwrap().current();
    let filters = may.publish.allowed().iter().map(|rule| rule.filter.clone());
    let publish = Rules::allow(filters).except(may.publish.denied().iter().cloned());
    Permissions { publish, ..may }
}

/// Every subject of one, two or three of the alphabet's letters.
fn everything() -> Vec<Subject> {
    let letters = ["a", "b", "c"];
    let mut all: Vec<String> = Vec::new();
    let mut before = vec![String::new()];
    for _ in 0..3 {
        let longer = before.iter().flat_map(|head| {
            letters.map(|letter| {
                if head.is_empty() { letter.to_owned() } else { format!("{head}.{letter}") }
            })
        });
        before = longer.collect();
        all.extend(before.iter().cloned());
    }
    all.into_iter().map(|text| Subject::new(text).unwrap()).collect()
}

async fn heard_on_server(real: &mut Real, user: &str, filter: &Filter) -> Vec<String> {
    let listener = real.client(user).await;
    let number = listener.subscribe(filter.as_str(), None).await.unwrap();
    listener.settle().await.unwrap();
    let speaker = real.client("everybody").await;
    for subject in everything() {
        speaker.publish(subject.as_str(), None, &[], b"").await.unwrap();
    }
    speaker.settle().await.unwrap();
    let listener = real.client(user).await;
    listener.send(format!("UNSUB {number}\r\n")).await.unwrap();
    let heard = listener.settle().await.unwrap().messages;
    heard.into_iter().map(|message| message.subject).collect()
}

async fn heard_in_memory(
    listener: &Connection,
    speaker: &Connection,
    filter: &Filter,
) -> Vec<String> {
    let listen = Act::Subscribe { filter: filter.clone(), group: None };
    let Ok(Some(mut listening)) = try_it(listener, &listen).await else {
        return Vec::new();
    };
    for subject in everything() {
        let say = Act::Publish { subject, reply: None };
        try_it(speaker, &say).await.unwrap();
    }
    listener.transport().close(std::time::Duration::from_secs(1)).await;
    let mut heard = Vec::new();
    while let Some(message) = expect_soon("what is heard", listening.next()).await {
        heard.push(message.unwrap().subject().to_string());
    }
    heard
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_permissions_at_all_are_enforced_as_by_a_server() {
    let mut runner = runner();
    let everybody = Permissions::everything();
    let any: Vec<(String, Permissions)> =
        (0..USERS).map(|index| (format!("u{index}"), any_permissions(&mut runner))).collect();
    let nothing =
        Composition::of(Source { file: "mesh.toml", text: "nodes = []" }, &[], &More::default());
    let users = any.iter().map(|(name, may)| (name.as_str(), Account::Edge, may));
    let users = users.chain([("everybody", Account::Edge, &everybody)]);
    let all: Accounts = accounts(&nothing.unwrap(), users);
    let mut real = Real::with(&all).await;
    let broker = InMemoryDurableBroker::new(Arc::new(SystemClock::new()));
    let who = |name: &str| Principal::Person { name: name.parse().unwrap() };
    let speaker = broker.connect(who("everybody"), everybody.clone()).unwrap();
    let mut tally = Tally::default();
    for (name, may) in &any {
        let tries = (checks() / 8).div_ceil(USERS);
        let acts: Vec<Act> =
            (0..tries).map(|_| act().new_tree(&mut runner).unwrap().current()).collect();
        let said = real.told(name, &acts).await;
        let connection = broker.connect(who(name), may.clone()).unwrap();
        for (act, real) in acts.iter().zip(said) {
            let memory = of(try_it(&connection, act).await.map(drop));
            let rules: Told = match act {
                Act::Publish { subject, reply } => may.on_publish(subject, reply.as_ref()).into(),
                Act::Subscribe { filter, group } => may.on_subscribe(filter, group.as_ref()).into(),
            };
            tally.note(|| format!("{act}, by {may:?}"), [rules, memory, real]);
        }
        for _ in 0..HELD {
            let filter = few_filters().new_tree(&mut runner).unwrap().current();
            let connection = broker.connect(who(name), may.clone()).unwrap();
            let memory = heard_in_memory(&connection, &speaker, &filter).await;
            let real = heard_on_server(&mut real, name, &filter).await;
            assert_eq!(memory, real, "what is heard at {filter}, by {may:?}");
        }
    }
    assert_eq!(tally.differences, [""; 0]);
    println!("{} checks of {USERS} users with any permissions", tally.checks);
}
