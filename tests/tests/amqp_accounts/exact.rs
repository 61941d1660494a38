//! What the expressions of composed accounts let through is what the grants let through: no name more, none
//! less. The broker's own decisions are asked for, by the thousand, on its own tables.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mesh_control::compose::rabbit::Definitions;
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::subject::Subject;
use mesh_core::topology::{AmqpExchange, AmqpQueue, ConsumerRef, Inbox, MeshSubject};
use mesh_testkit::strategies::{MeshText, mesh as meshes};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::bed::{Bed, composed};

/// How many questions are asked, at least.
const TRIES: usize = 1000;

/// One question: whether this user may do that.
struct Try {
    user: String,
    what: What,
    /// By the grants.
    may: bool,
}

enum What {
    /// Publish to an exchange with a key, which are two questions to the broker.
    Publish(AmqpExchange, String),
    /// Read a queue.
    Read(String),
    /// Declare something of that name.
    Declare(String),
}

#[tokio::test]
async fn the_expressions_of_an_account_fit_the_names_that_its_grants_allow_and_no_other() {
    let seed = RngSeed::Fixed(7);
    let mut runner = TestRunner::new(Config { rng_seed: seed, ..Config::default() });
    let (mut asked, mut allowed) = (0, 0);
    while asked < TRIES {
        let text = meshes().new_tree(&mut runner).unwrap().current();
        let (bed, tries) = bed_of(&text).await;
        let answers = decisions(&bed, &tries).await;
        for (one, may) in tries.iter().zip(answers) {
            assert_eq!(may, one.may, "{} {}\n{}", one.user, told(&one.what), text.file.text);
            allowed += usize::from(may);
        }
        asked += tries.len();
    }
    // Both answers are given: most names are somebody else's, and nobody may declare anything.
    assert!(allowed > 50, "{allowed} of {asked} are allowed");
}

fn told(what: &What) -> String {
    match what {
        What::Publish(exchange, key) => format!("publishes {key:?} to {exchange}"),
        What::Read(queue) => format!("reads {queue:?}"),
        What::Declare(name) => format!("declares {name:?}"),
    }
}

/// A virtual host with the mesh's accounts, and what is tried there.
async fn bed_of(text: &MeshText) -> (Bed, Vec<Try>) {
    let mesh = &text.mesh;
    let modules =
        mesh.instances().map(|one| Principal::Module { node: one.node, module: one.module });
    let hosts = mesh.nodes().iter().map(|node| Principal::Host { node: node.clone() });
    let builders = mesh.nodes().iter().map(|node| Principal::Builder { node: node.clone() });
    let people = mesh.people().map(|(name, _)| Principal::Person { name: name.clone() });
    let principals: Vec<Principal> = modules.chain(hosts).chain(builders).chain(people).collect();
    let definitions = composed(mesh);
    let read = Definitions::parse(&definitions.to_json().to_string()).unwrap();
    assert_eq!(read.findings(), []);
    let (keys, queues) = names(text, &principals);
    let mut tries = Vec::new();
    for principal in &principals {
        let permissions = mesh.permissions(principal).unwrap();
        let user = principal.amqp_user();
        let mut add = |what, may| tries.push(Try { user: user.clone(), what, may });
        for (exchange, key) in &keys {
            let exchange = AmqpExchange::from_name(exchange).unwrap();
            let may = may_publish(exchange, key, &permissions, principal);
            add(What::Publish(exchange, key.clone()), may);
        }
        for queue in &queues {
            add(What::Read(queue.clone()), may_read(queue, &permissions, principal));
            add(What::Declare(queue.clone()), false);
        }
    }
    (Bed::of(&definitions).await, tries)
}

/// Keys and queues of the mesh, and names that are nearly such.
fn names(
    text: &MeshText,
    principals: &[Principal],
) -> (BTreeSet<(&'static str, String)>, BTreeSet<String>) {
    let mesh = &text.mesh;
    let mut keys = BTreeSet::new();
    let mut queues: BTreeSet<String> =
        ["control", "control.catchup", "builds", "mesh.events.dead"].map(String::from).into();
    for module in mesh.modules() {
        let name = &module.manifest.name;
        for event in &module.manifest.emits {
            let subject = MeshSubject::Event { module: name.clone(), event: event.clone() };
            keys.insert((AmqpExchange::Events.as_str(), subject.to_amqp().key));
        }
        for tool in &module.manifest.tools {
            let queue = AmqpQueue::of_tool(name, &tool.name).unwrap().name;
            keys.insert((AmqpExchange::Rpc.as_str(), queue.clone()));
            queues.insert(queue);
        }
        for tool in ["provision_grant", "provision_withdraw"] {
            keys.insert((AmqpExchange::Rpc.as_str(), format!("serve.{name}.{tool}")));
            queues.insert(format!("serve.{name}.{tool}"));
        }
    }
    for principal in principals {
        let answers = AmqpQueue::of_answers(principal).unwrap().name;
        keys.insert((AmqpExchange::Rpc.as_str(), answers.clone()));
        queues.insert(answers);
        if let Principal::Module { node, module } = principal {
            queues.insert(format!("{node}.{module}.events"));
        }
        if let Principal::Host { node } = principal {
            queues.insert(format!("node.{node}"));
            keys.insert((AmqpExchange::Alive.as_str(), node.to_string()));
            keys.insert((AmqpExchange::Rpc.as_str(), format!("ask.{node}.status")));
        }
    }
    keys.insert((AmqpExchange::EventsDead.as_str(), "dead".to_owned()));
    keys.insert((AmqpExchange::Live.as_str(), "some.where".to_owned()));
    let near: Vec<_> =
        keys.iter().flat_map(|(of, key)| nearly(key).map(|key| (*of, key))).collect();
    keys.extend(near);
    let near: Vec<_> = queues.iter().flat_map(|queue| nearly(queue)).collect();
    queues.extend(near);
    (keys, queues)
}

/// What an expression that is not anchored or escaped would take for `name`.
fn nearly(name: &str) -> [String; 4] {
    [name.replacen('.', "x", 1), format!("{name}\n"), format!("x{name}"), format!("{name}.x")]
}

/// By the grants: the subject that travels so may be published to. What is no subject nobody may.
fn may_publish(
    exchange: AmqpExchange,
    key: &str,
    permissions: &Permissions,
    principal: &Principal,
) -> bool {
    if exchange == AmqpExchange::Rpc && key.starts_with("reply.") {
        let answers = permissions.publish.allowed().iter().any(|rule| {
            rule.filter.as_str().starts_with("_INBOX.")
                && !Inbox::of(principal).filter().contains(&rule.filter)
        });
        let tokens: Vec<&str> = key.split('.').collect();
        let word = |token: &&str| {
            let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            !token.is_empty() && token.chars().all(letter)
        };
        return answers && tokens.len() == 3 && tokens.iter().all(word);
    }
    // As a grant has it: it may allow more subjects than somebody could serve.
    let subject = match (exchange, key.split_once('.')) {
        (AmqpExchange::Events, Some(("replay", _))) => format!("mesh.{key}"),
        (AmqpExchange::Events, _) => format!("mesh.events.{key}"),
        (AmqpExchange::Rpc, Some(("serve", rest))) => format!("mesh.tools.{rest}"),
        (AmqpExchange::Rpc, Some(("ask", _))) => format!("mesh.{key}"),
        (AmqpExchange::Alive, None) => format!("mesh.control.{key}.alive"),
        (AmqpExchange::Live, _) => key.to_owned(),
        _ => return false,
    };
    Subject::new(subject).is_ok_and(|subject| permissions.publish.permits(&subject))
}

/// By the grants: the consumer, the tool or the inbox whose queue it is may be subscribed to.
fn may_read(queue: &str, permissions: &Permissions, principal: &Principal) -> bool {
    if Some(queue) == AmqpQueue::of_answers(principal).ok().as_ref().map(|own| own.name.as_str()) {
        return true;
    }
    permissions.subscribe.allowed().iter().any(|rule| {
        let tokens: Vec<&str> = rule.filter.as_str().split('.').collect();
        match tokens.as_slice() {
            ["mesh", "tools", module, tool] => queue == format!("serve.{module}.{tool}"),
            ["mesh", "deliver", stream, consumer] => {
                let stream = mesh_core::topology::StreamName::from_name(stream).unwrap();
                let consumer = ConsumerRef::new(stream, consumer.parse().unwrap());
                consumer.amqp_queues().iter().any(|own| own == queue)
            }
            _ => false,
        }
    })
}

/// What the node itself decides, in one question.
async fn decisions(bed: &Bed, tries: &[Try]) -> Vec<bool> {
    let mut list = String::new();
    for one in tries {
        let (kind, right, name, key) = match &one.what {
            What::Publish(exchange, key) => ("exchange", "write", exchange.as_str(), Some(key)),
            What::Read(queue) => ("queue", "read", queue.as_str(), None),
            What::Declare(name) => ("queue", "configure", name.as_str(), None),
        };
        let key = key.map_or("none".to_owned(), |key| binary(key));
        let comma = if list.is_empty() { "" } else { "," };
        let user = binary(&one.user);
        write!(list, "{comma}{{{user},{kind},{right},{},{key}}}", binary(name)).unwrap();
    }
    let expression = format!(
        "Host = {host}, \
         Logged = fun(Name) -> {{ok, User}} = rabbit_access_control:check_user_login(Name, []), User end, \
         May = fun(Check) -> try Check() of ok -> $y catch _:_ -> $n end end, \
         One = fun({{Name, Kind, Right, What, Key}}) -> \
           User = Logged(Name), \
           Of = fun(As) -> rabbit_misc:r(Host, As, What) end, \
           May(fun() -> \
             ok = rabbit_access_control:check_resource_access(User, Of(Kind), Right, #{{}}), \
             case Key of \
               none -> ok; \
               _ -> ok = rabbit_access_control:check_topic_access(User, Of(topic), Right, \
                 #{{routing_key => Key, variable_map => #{{}}}}) \
             end end) end, \
         lists:map(One, [{list}]).",
        host = binary(bed.host.name()),
    );
    // It is longer than an argument may be.
    let file = bed.server().folder().join(format!("{}.erl", bed.host.name()));
    std::fs::write(&file, expression).unwrap();
    let printed = bed.server().control(&["eval_file", file.to_str().unwrap()]).await.unwrap();
    let answers: Vec<bool> =
        printed.chars().filter(|c| matches!(c, 'y' | 'n')).map(|c| c == 'y').collect();
    assert_eq!(answers.len(), tries.len(), "{printed}");
    answers
}

/// Text as Erlang's binary, by its bytes.
fn binary(text: &str) -> String {
    let bytes: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
    format!("<<{}>>", bytes.join(","))
}
