//! What a principal may do, in the regular expressions of RabbitMQ.

use std::collections::{BTreeMap, BTreeSet};

use mesh_core::identity::Principal;
use mesh_core::name::ConsumerName;
use mesh_core::permissions::{Permissions, Rule, Rules};
use mesh_core::subject::Filter;
use mesh_core::topology::{AmqpExchange, AmqpQueue, ConsumerRef, Inbox, StreamName};

#[cfg(test)]
mod tests;

/// Whether an account may declare the queues that it reads alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Declares {
    /// As accounts of a mesh: somebody else declares all that it reads. One that may declare a queue may
    /// declare an exchange of its name as well, and send through a binding what it may not publish.
    Nothing,
    /// Queues for its live subscriptions and its answers, under its own name, and for what it serves.
    Own,
}

/// What an account may do in one virtual host: regular expressions, of which an empty one fits nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rights {
    /// Which queues and exchanges it may declare and delete.
    pub configure: String,
    /// Which exchanges it may publish to.
    pub write: String,
    /// Which queues it may read.
    pub read: String,
    /// Which keys it may use, for every topic exchange: without a row for one, all are allowed.
    pub topics: Vec<TopicRights>,
}

/// Which routing keys an account may use on one topic exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a row of the broker's table")]
pub struct TopicRights {
    /// The exchange's name.
    pub exchange: &'static str,
    /// Which it may publish with.
    pub write: String,
    /// Which it may bind a queue with.
    pub read: String,
}

impl Rights {
    /// These expressions, and no row for a topic exchange.
    #[must_use]
    pub fn new(
        configure: impl Into<String>,
        write: impl Into<String>,
        read: impl Into<String>,
    ) -> Self {
        let (configure, write, read) = (configure.into(), write.into(), read.into());
        Self { configure, write, read, topics: Vec::new() }
    }

    /// Everything: the controller's, who declares what others read.
    #[must_use]
    pub fn everything() -> Self {
        let all = || ".*".to_owned();
        let topic = |exchange: AmqpExchange| TopicRights {
            exchange: exchange.as_str(),
            write: all(),
            read: all(),
        };
        let topics = AmqpExchange::NAMED.map(topic).into();
        Self { configure: all(), write: all(), read: all(), topics }
    }

    /// What `permissions` allow `principal`, whose user is called `user`.
    #[must_use]
    pub fn of(
        user: &str,
        principal: &Principal,
        permissions: &Permissions,
        declares: Declares,
    ) -> Self {
        let mut grants = Grants::new(user, declares);
        for filter in allowed(&permissions.publish) {
            // Its own echoes have no place on AMQP.
            if !Inbox::of(principal).filter().contains(filter) {
                grants.publish(filter);
            }
        }
        for filter in permissions.publish.denied() {
            if let Place::Exchange(exchange, key) = Place::of(filter) {
                grants.keys(exchange).not_written.add(expression(&key));
            }
        }
        for rule in permissions.subscribe.allowed() {
            grants.subscribe(rule);
        }
        for filter in permissions.subscribe.denied() {
            if let Place::Exchange(exchange, key) = Place::of(filter) {
                grants.keys(exchange).not_read.add(expression(&key));
            }
        }
        grants.rights()
    }
}

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
    not_read: Any,
}

struct Grants {
    user: String,
    declares: Declares,
    configure: Any,
    write: Any,
    read: Any,
    topics: BTreeMap<&'static str, Keys>,
}

impl Grants {
    fn new(user: &str, declares: Declares) -> Self {
        // A row for each: without one all is allowed.
        let topics = AmqpExchange::NAMED.map(|exchange| (exchange.as_str(), Keys::default()));
        Self {
            user: user.to_owned(),
            declares,
            configure: Any::default(),
            write: Any::default(),
            read: Any::default(),
            topics: topics.into(),
        }
    }

    fn keys(&mut self, exchange: AmqpExchange) -> &mut Keys {
        self.topics.entry(exchange.as_str()).or_default()
    }

    fn publish(&mut self, filter: &Filter) {
        match Place::of(filter) {
            Place::Exchange(AmqpExchange::Default, _) => self.write.add(r"amq\.default"),
            Place::Exchange(exchange, key) => {
                self.write.add(escaped(exchange.as_str()));
                self.keys(exchange).write.add(expression(&key));
            }
            Place::Answers => {
                self.write.add(escaped(AmqpExchange::Rpc.as_str()));
                let answers = match self.declares {
                    // Of whom the user's name has two words.
                    Declares::Nothing => r"reply\.[a-z0-9-]+\.[a-z0-9-]+",
                    Declares::Own => r"reply\..+",
                };
                self.keys(AmqpExchange::Rpc).write.add(answers);
            }
            Place::Queues(_) | Place::Nowhere => {}
        }
    }

    fn subscribe(&mut self, rule: &Rule) {
        let filter = &rule.filter;
        let user = escaped(&self.user);
        match Place::of(filter) {
            Place::Exchange(AmqpExchange::Default, _) | Place::Nowhere => {}
            Place::Exchange(AmqpExchange::Rpc, key) => {
                let queue = expression(&key);
                self.reads(AmqpExchange::Rpc, &queue, &queue, &queue);
            }
            Place::Exchange(exchange, key) => {
                let (provisioned, own) = match &rule.group {
                    None => {
                        let queue = AmqpQueue::of_subscription(&self.user, filter);
                        (escaped(&queue.name), format!(r"live\.{user}\..+"))
                    }
                    Some(group) => {
                        // One whose name is too long can't be allowed.
                        let Some(queue) = AmqpQueue::of_group(group, filter) else { return };
                        (escaped(&queue.name), escaped(&queue.name))
                    }
                };
                self.reads(exchange, &provisioned, &own, &expression(&key));
            }
            Place::Answers => {
                let provisioned = format!(r"reply\.{user}");
                let own = format!(r"{provisioned}(?:\..+)?");
                self.reads(AmqpExchange::Rpc, &provisioned, &own, &own);
            }
            Place::Queues(consumer) => {
                for queue in consumer.amqp_queues() {
                    self.read.add(escaped(&queue));
                }
            }
        }
    }

    /// A queue, or those of its own, and the keys that they may be bound with.
    fn reads(&mut self, exchange: AmqpExchange, provisioned: &str, own: &str, keys: &str) {
        match self.declares {
            Declares::Nothing => self.read.add(provisioned),
            Declares::Own => {
                for side in [&mut self.configure, &mut self.write, &mut self.read] {
                    side.add(own);
                }
                self.read.add(escaped(exchange.as_str()));
                self.keys(exchange).read.add(keys);
            }
        }
    }

    fn rights(self) -> Rights {
        let none = Any::default();
        let [configure, write, read] =
            [&self.configure, &self.write, &self.read].map(|any| any.whole(&none));
        let topics = self.topics.into_iter().map(|(exchange, keys)| {
            let Keys { write, read, not_written, not_read } = keys;
            TopicRights { exchange, write: write.whole(&not_written), read: read.whole(&not_read) }
        });
        Rights { configure, write, read, topics: topics.collect() }
    }
}

fn allowed(rules: &Rules) -> impl Iterator<Item = &Filter> {
    rules.allowed().iter().map(|rule| &rule.filter)
}

/// What matches the keys of a filter, and the bindings that lie within it.
fn expression(filter: &str) -> String {
    let token = |token: &str| match token {
        // What can be no part of a subject is none of a key.
        "*" => r"[^.#\x00-\x20\x7f]+".to_owned(),
        ">" => r"[^\x00-\x20\x7f]+".to_owned(),
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
