//! What a principal may do, in the regular expressions of RabbitMQ (protocol §7).

use std::collections::{BTreeMap, BTreeSet};

use mesh_core::identity::Principal;
use mesh_core::name::ConsumerName;
use mesh_core::permissions::{Permissions, Rule, Rules};
use mesh_core::subject::Filter;
use mesh_core::topology::{AmqpExchange, AmqpQueue, ConsumerRef, Inbox, StreamName};

use super::Account;

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

impl Account {
    /// The same with what `permissions` allow `principal`, whose user it need not be called after.
    #[must_use]
    pub fn permitted(
        self,
        principal: &Principal,
        permissions: &Permissions,
        declares: Declares,
    ) -> Self {
        let mut grants = Grants::new(self.name(), declares);
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
        grants.give(self)
    }
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
                    Declares::Nothing => r"reply\.[^.]+\.[^.]+",
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

    fn give(self, account: Account) -> Account {
        let none = Any::default();
        let [configure, write, read] =
            [&self.configure, &self.write, &self.read].map(|any| any.whole(&none));
        let account = account.rights(configure, write, read);
        self.topics.into_iter().fold(account, |account, (exchange, keys)| {
            let Keys { write, read, not_written, not_read } = keys;
            account.topic(exchange, write.whole(&not_written), read.whole(&not_read))
        })
    }
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fixtures::{filter, module_name, node, tool_name};
    use mesh_core::permissions::{ModuleGrants, PersonGrants};

    fn rows(account: &Account, section: &str) -> Vec<Value> {
        let rows = account.rows("mesh").into_iter();
        rows.filter(|(of, _)| *of == section).map(|(_, row)| row).collect()
    }

    fn topic(account: &Account, exchange: &str) -> (String, String) {
        let rows = rows(account, "topic_permissions");
        let row = rows.iter().find(|row| row["exchange"] == exchange).unwrap();
        let text = |side: &str| row[side].as_str().unwrap().to_owned();
        (text("write"), text("read"))
    }

    #[test]
    fn a_modules_account_is_that_of_the_bus_that_is_left() {
        let (n1, m2) = (node("n1"), module_name("m2"));
        let grants = ModuleGrants {
            emits: vec![mesh_core::name::EventName::new("happened").unwrap()],
            consumes: true,
            calls: vec![(module_name("m1"), tool_name("echo"))],
            tools: vec![tool_name("boom")],
            provides: false,
        };
        let permissions = Permissions::of_module(&n1, &m2, &grants).unwrap();
        let principal = Principal::Module { node: n1, module: m2 };
        let account = Account::new("n1.m2", "p");
        let account = account.permitted(&principal, &permissions, Declares::Nothing);
        let rights = &rows(&account, "permissions")[0];
        assert_eq!(rights["configure"], "");
        assert_eq!(rights["write"], r"^(?:mesh\.events|mesh\.rpc)\z");
        let read = r"^(?:n1\.m2\.events|reply\.n1\.m2|serve\.m2\.boom)\z";
        assert_eq!(rights["read"].as_str().unwrap().replace(r"n1\.m2\.replay|", ""), read);
        let none = String::new;
        assert_eq!(topic(&account, "mesh.events"), (r"^(?:m2\.happened)\z".to_owned(), none()));
        let calls = r"^(?:reply\.[^.]+\.[^.]+|serve\.m1\.echo)\z".to_owned();
        assert_eq!(topic(&account, "mesh.rpc"), (calls, none()));
        assert_eq!(topic(&account, "mesh.live"), (none(), none()), "no row would allow all");
    }

    #[test]
    fn gateways_that_share_a_mailbox_read_the_queue_of_their_group_alone() {
        use mesh_core::mx::MailboxKind;
        use mesh_core::port::QueueGroup;

        let name = mesh_core::name::InstanceName::new("g1").unwrap();
        let realm = mesh_core::name::RealmName::new("acme.com").unwrap();
        let group = QueueGroup::new("mx-edge").unwrap();
        let kinds = [MailboxKind::default()];
        let permissions = Permissions::of_shared_gateway(&name, &realm, &kinds, &[], &group);
        let principal = Principal::Gateway { name };
        let account = Account::new("gateway.g1", "p");
        let account = account.permitted(&principal, &permissions, Declares::Nothing);
        let rights = &rows(&account, "permissions")[0];
        assert_eq!((&rights["configure"], &rights["write"]), (&"".into(), &"".into()));
        let read = rights["read"].as_str().unwrap();
        assert!(read.contains(r"live\.\@mx\-edge\.mx\/in\/1\/acme\.com\/00"), "{read}");
        assert!(!read.contains(r"live\.gateway"), "{read}");
    }

    #[test]
    fn what_is_denied_is_taken_from_what_is_allowed() {
        let name = mesh_core::name::PersonName::new("ann").unwrap();
        let permissions = Permissions::of_person(&name, &PersonGrants::Administrator).unwrap();
        let principal = Principal::Person { name };
        let account = Account::new("person.ann", "p");
        let account = account.permitted(&principal, &permissions, Declares::Nothing);
        let (write, _) = topic(&account, "mesh.rpc");
        assert!(write.starts_with("^(?!(?:") && write.contains(r"provision\_grant"), "{write}");
        assert!(write.ends_with(r"\z)(?:serve\..+)\z"), "{write}");
    }

    #[test]
    fn a_token_of_a_filter_is_no_more_than_a_token() {
        assert_eq!(expression("a.*.b"), r"a\.[^.#]+\.b");
        assert_eq!(expression("a.>"), r"a\..+");
        assert!(matches!(Place::of(&filter("mesh.events.dead")), Place::Exchange(..)));
    }
}
