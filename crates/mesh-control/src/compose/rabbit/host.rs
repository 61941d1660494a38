//! One virtual host with everybody and everything in it.

use std::collections::BTreeMap;

use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::subject::{Filter, MAX_SUBJECT_BYTES};
use mesh_core::topology::{AmqpArgument, AmqpExchange, AmqpQueue, MeshSubject, Topology};
use serde_json::{Map, Value, json};

use super::{Declares, Definitions, HostError, PasswordHash, Rights};

/// The user of the controller, who declares everything.
const SUBSTRATE: &str = "substrate";

/// How long a call or an answer is kept that nobody reads, in milliseconds, and how many of them.
const TTL: u32 = 30_000;
const MOST: u32 = 1000;

/// Somebody with an account. `Debug` shows no hash.
#[derive(Debug, Clone)]
pub struct Member {
    name: String,
    principal: Principal,
    /// Nothing, for everything.
    permissions: Option<Permissions>,
    hash: PasswordHash,
}

impl Member {
    /// One whose user is called after who it is: `n1.mail`, `host.n1`, `person.ada`.
    #[must_use]
    pub fn new(principal: Principal, permissions: Permissions, hash: PasswordHash) -> Self {
        let name = principal.amqp_user();
        Self { name, principal, permissions: Some(permissions), hash }
    }

    /// The controller, whose user is `substrate` and may do everything in this virtual host: nobody else
    /// declares anything.
    #[must_use]
    pub fn controller(principal: Principal, hash: PasswordHash) -> Self {
        Self { name: SUBSTRATE.to_owned(), principal, permissions: None, hash }
    }

    /// The same, allowed everything: to show what is refused otherwise.
    #[must_use]
    pub fn widened(mut self) -> Self {
        self.permissions = None;
        self
    }

    /// The name to log in with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the account may do.
    #[must_use]
    pub fn rights(&self) -> Rights {
        match &self.permissions {
            None => Rights::everything(),
            Some(permissions) => {
                Rights::of(&self.name, &self.principal, permissions, Declares::Nothing)
            }
        }
    }

    /// The queues that somebody has to declare for it.
    fn queues(&self) -> Result<Vec<AmqpQueue>, HostError> {
        let Some(permissions) = &self.permissions else { return Ok(Vec::new()) };
        let mut queues = Vec::new();
        for rule in permissions.subscribe.allowed() {
            let subject = rule.filter.as_subject();
            match subject.as_ref().and_then(|subject| MeshSubject::parse(subject).ok()) {
                // Names hold no wildcard, so there is a pattern.
                Some(MeshSubject::Tool { module, tool }) => {
                    queues.extend(AmqpQueue::of_tool(&module, &tool));
                }
                Some(_) => {}
                None if is_live(&rule.filter) => queues.extend(match &rule.group {
                    None => Some(AmqpQueue::of_subscription(&self.name, &rule.filter)),
                    Some(group) => AmqpQueue::of_group(group, &rule.filter),
                }),
                None => {}
            }
        }
        let asks = |rule: &Filter| {
            ["mesh.tools.", "mesh.ask."].iter().any(|place| rule.as_str().starts_with(place))
        };
        if permissions.publish.allowed().iter().any(|rule| asks(&rule.filter)) {
            queues.extend(AmqpQueue::of_answers(&self.principal));
        }
        match queues.iter().find(|queue| queue.name.len() > MAX_SUBJECT_BYTES) {
            Some(AmqpQueue { name, .. }) => {
                Err(HostError::QueueName { name: name.clone(), found: name.len() })
            }
            None => Ok(queues),
        }
    }
}

/// Whether whoever may subscribe to it hears it live: neither an inbox nor a place of deliveries.
fn is_live(filter: &Filter) -> bool {
    !["_INBOX.", "mesh.", "$JS."].iter().any(|place| filter.as_str().starts_with(place))
}

/// A virtual host, whose rows come out the same in whatever order it was told of its members.
#[derive(Debug, Clone)]
pub struct Host {
    name: String,
    members: BTreeMap<String, Member>,
    /// Each with the arguments that it is declared with.
    queues: BTreeMap<String, (AmqpQueue, Value)>,
    tries: Option<u64>,
}

impl Host {
    /// An empty one.
    ///
    /// # Errors
    /// [`HostError::VirtualHost`] for what is no name.
    pub fn new(name: &str) -> Result<Self, HostError> {
        if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
            return Err(HostError::VirtualHost(name.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            members: BTreeMap::new(),
            queues: BTreeMap::new(),
            tries: None,
        })
    }

    /// With this member, and the queues of its calls and answers.
    ///
    /// # Errors
    /// [`HostError`] for a second of the same name, and where names are too long together.
    pub fn member(mut self, member: Member) -> Result<Self, HostError> {
        if self.members.contains_key(member.name()) {
            return Err(HostError::Twice(member.name));
        }
        for queue in member.queues()? {
            self.queues.insert(queue.name.clone(), (queue, json!({})));
        }
        self.members.insert(member.name.clone(), member);
        Ok(self)
    }

    /// With the durable queues of a topology, declared as the controller declares them: asserted afterwards, it
    /// finds no difference.
    ///
    /// # Errors
    /// [`HostError::Topology`] for what AMQP has no form for.
    pub fn topology(mut self, topology: &Topology) -> Result<Self, HostError> {
        for durable in topology.amqp_queues()? {
            if let Some(AmqpArgument::Number(limit)) =
                durable.arguments.get(AmqpArgument::DELIVERY_LIMIT)
            {
                self.tries = Some(self.tries.map_or(*limit, |other| other.max(*limit)));
            }
            let arguments: Map<String, Value> = durable
                .arguments
                .iter()
                .map(|(name, value)| ((*name).to_owned(), argument(*value)))
                .collect();
            self.queues
                .insert(durable.queue.name.clone(), (durable.queue, Value::Object(arguments)));
        }
        Ok(self)
    }

    /// All its rows.
    #[must_use]
    pub fn definitions(&self) -> Definitions {
        let vhost = self.name.as_str();
        let mut definitions = Definitions::new().vhost(vhost);
        for exchange in AmqpExchange::NAMED {
            definitions = definitions.exchange(vhost, exchange.as_str(), "topic");
        }
        for member in self.members.values() {
            definitions = definitions.user(&member.name, &member.hash, "").rights(
                vhost,
                &member.name,
                &member.rights(),
            );
        }
        for (queue, arguments) in self.queues.values() {
            definitions = definitions.queue(vhost, &queue.name, arguments);
            for (exchange, key) in &queue.bindings {
                let exchange = exchange.as_str();
                definitions = definitions.binding(vhost, exchange, &queue.name, key.as_str());
            }
        }
        self.policies(definitions)
    }

    /// What holds for queues of calls, and as a net for durable ones that were there before: an import leaves
    /// a queue that is there as it is, and a limit by policy reaches it all the same.
    fn policies(&self, definitions: Definitions) -> Definitions {
        let vhost = self.name.as_str();
        let calls = json!({ "message-ttl": TTL });
        let bounded = json!({ "message-ttl": TTL, "max-length": MOST });
        // Those that are read by whoever declared them are emptied as fast as they fill.
        let provisioned = r"^live\.[^.]+\.[^.]+\.";
        let heard = json!({ "message-ttl": TTL, "max-length": 100 * MOST });
        let definitions = definitions
            .policy(vhost, "serve", r"^serve\.", &calls)
            .policy(vhost, "reply", r"^reply\.", &bounded)
            .policy(vhost, "live", provisioned, &heard);
        let Some(limit) = self.tries else { return definitions };
        let events = json!({
            "delivery-limit": limit,
            "dead-letter-exchange": AmqpExchange::EventsDead.as_str(),
        });
        let newest = json!({ "max-length": 1, "overflow": "drop-head" });
        definitions.policy(vhost, "events", r"^[^.]+\.[^.]+\.events\z", &events).policy(
            vhost,
            "node",
            r"^node\.[^.]+\z",
            &newest,
        )
    }
}

fn argument(value: AmqpArgument) -> Value {
    match value {
        AmqpArgument::Text(text) => text.into(),
        AmqpArgument::Number(number) => number.into(),
        AmqpArgument::Flag(flag) => flag.into(),
    }
}
