//! What a principal may do, in the regular expressions of RabbitMQ. One that listens live may declare
//! queues of its own, which accounts of a real mesh may not (`docs/amqp.md`).

use std::collections::{BTreeMap, BTreeSet};

use mesh_core::identity::Principal;
use mesh_core::name::ConsumerName;
use mesh_core::permissions::{Permissions, Rules};
use mesh_core::subject::Filter;
use mesh_core::topology::{AmqpExchange, ConsumerRef, Inbox, StreamName};
use mesh_testkit::servers::rabbit::Account;

/// What of a filter travels where: the exchange, and the filter of its keys.
enum Place {
    Exchange(AmqpExchange, String),
    /// The answers of a responder, or to a caller.
    Answers,
    /// A durable consumer's queues.
    Queues(ConsumerRef),
    /// What AMQP has no subject for.
    Nowhere,
}

impl Place {
    fn of(filter: &Filter) -> Self {
        let text = filter.as_str();
        let tokens: Vec<&str> = text.split('.').collect();
        let rest = |prefix: &str| text.strip_prefix(prefix).unwrap_or_default().to_owned();
        match tokens.as_slice() {
            ["mesh", "events", "dead"] => Self::Exchange(AmqpExchange::EventsDead, "dead".into()),
            ["mesh", "events", ..] => Self::Exchange(AmqpExchange::Events, rest("mesh.events.")),
            ["mesh", "replay", ..] => Self::Exchange(AmqpExchange::Events, rest("mesh.")),
            ["mesh", "tools", ..] => {
                Self::Exchange(AmqpExchange::Rpc, format!("serve.{}", rest("mesh.tools.")))
            }
            ["mesh", "ask", ..] => Self::Exchange(AmqpExchange::Rpc, rest("mesh.")),
            ["mesh", "control", node, "alive"] => {
                Self::Exchange(AmqpExchange::Alive, (*node).to_owned())
            }
            ["mesh", "control" | "node" | "build", ..] => {
                Self::Exchange(AmqpExchange::Default, String::new())
            }
            ["mesh", "deliver", stream, consumer] => {
                let stream = StreamName::from_name(stream);
                match stream.zip(ConsumerName::new(*consumer).ok()) {
                    Some((stream, consumer)) => Self::Queues(ConsumerRef::new(stream, consumer)),
                    None => Self::Nowhere,
                }
            }
            ["_INBOX", ..] => Self::Answers,
            ["$JS", ..] => Self::Nowhere,
            _ => Self::Exchange(AmqpExchange::Live, text.to_owned()),
        }
    }
}

/// Alternatives of regular expressions.
#[derive(Default)]
struct Any(BTreeSet<String>);

impl Any {
    fn add(&mut self, expression: impl Into<String>) {
        self.0.insert(expression.into());
    }

    /// Empty, it fits nothing.
    fn whole(&self, except: &Self) -> String {
        let list = |any: &Self| any.0.iter().cloned().collect::<Vec<_>>().join("|");
        match (self.0.is_empty(), except.0.is_empty()) {
            (true, _) => String::new(),
            (false, true) => format!(r"^(?:{})\z", list(self)),
            (false, false) => format!(r"^(?!(?:{})\z)(?:{})\z", list(except), list(self)),
        }
    }
}

#[derive(Default)]
struct Keys {
    write: Any,
    read: Any,
    not_written: Any,
}

/// The account with what `permissions` allow `principal`.
pub(super) fn of(account: Account, principal: &Principal, permissions: &Permissions) -> Account {
    let user = escaped(&principal.amqp_user());
    let (mut configure, mut write, mut read) = (Any::default(), Any::default(), Any::default());
    let mut keys: BTreeMap<&str, Keys> =
        AmqpExchange::NAMED.iter().map(|exchange| (exchange.as_str(), Keys::default())).collect();
    for filter in allowed(&permissions.publish) {
        match Place::of(filter) {
            Place::Exchange(AmqpExchange::Default, _) => write.add(r"amq\.default"),
            Place::Exchange(exchange, key) => {
                write.add(escaped(exchange.as_str()));
                keys.entry(exchange.as_str()).or_default().write.add(expression(&key));
            }
            // Its own echoes have no place on AMQP.
            Place::Answers if Inbox::of(principal).filter().contains(filter) => {}
            Place::Answers => {
                write.add(escaped(AmqpExchange::Rpc.as_str()));
                let rpc = keys.entry(AmqpExchange::Rpc.as_str()).or_default();
                rpc.write.add(r"reply\..+");
            }
            Place::Queues(_) | Place::Nowhere => {}
        }
    }
    for filter in permissions.publish.denied() {
        if let Place::Exchange(exchange, key) = Place::of(filter) {
            keys.entry(exchange.as_str()).or_default().not_written.add(expression(&key));
        }
    }
    for filter in allowed(&permissions.subscribe) {
        match Place::of(filter) {
            Place::Exchange(AmqpExchange::Rpc, key) => {
                for side in [&mut configure, &mut write, &mut read] {
                    side.add(expression(&key));
                }
                read.add(escaped(AmqpExchange::Rpc.as_str()));
                keys.entry(AmqpExchange::Rpc.as_str()).or_default().read.add(expression(&key));
            }
            Place::Exchange(AmqpExchange::Default, _) | Place::Nowhere => {}
            Place::Exchange(exchange, key) => {
                let own = format!(r"live\.{user}\..+");
                for side in [&mut configure, &mut write, &mut read] {
                    side.add(&own);
                }
                read.add(escaped(exchange.as_str()));
                keys.entry(exchange.as_str()).or_default().read.add(expression(&key));
            }
            Place::Answers => {
                let own = format!(r"reply\.{user}(?:\..+)?");
                for side in [&mut configure, &mut write, &mut read] {
                    side.add(&own);
                }
                read.add(escaped(AmqpExchange::Rpc.as_str()));
                keys.entry(AmqpExchange::Rpc.as_str()).or_default().read.add(own);
            }
            Place::Queues(consumer) => {
                for queue in consumer.amqp_queues() {
                    read.add(escaped(&queue));
                }
            }
        }
    }
    let none = Any::default();
    let rights = account.rights(configure.whole(&none), write.whole(&none), read.whole(&none));
    keys.into_iter().fold(rights, |account, (exchange, Keys { write, read, not_written })| {
        account.topic(exchange, write.whole(&not_written), read.whole(&none))
    })
}

fn allowed(rules: &Rules) -> impl Iterator<Item = &Filter> {
    rules.allowed().iter().map(|rule| &rule.filter)
}

/// What matches the keys of a filter, and the bindings that lie within it.
fn expression(filter: &str) -> String {
    let token = |token: &str| match token {
        "*" => r"[^.#]+".to_owned(),
        ">" => ".+".to_owned(),
        name => escaped(name),
    };
    filter.split('.').map(token).collect::<Vec<_>>().join(r"\.")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for char in text.chars() {
        if !char.is_ascii_alphanumeric() && char.is_ascii() {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}
