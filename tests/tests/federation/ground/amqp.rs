//! Virtual hosts on the process's one RabbitMQ: the backbone, where gateways declare nothing, and one for each
//! realm, where the topics of answers are made as they are needed.

use std::collections::BTreeMap;

use mesh_core::identity::Principal;
use mesh_core::port::Connection;
use mesh_core::topology::{AmqpExchange, AmqpQueue};
use mesh_testkit::servers::rabbit::{
    Account, Declares, Definitions, RabbitServer, VirtualHost, shared,
};
use mesh_transport_amqp::{AmqpOptions, connect};
use serde_json::json;

use super::{Held, Placed};
use crate::target;

pub(super) struct Amqp {
    server: &'static RabbitServer,
    backbone: VirtualHost,
    inside: BTreeMap<u8, VirtualHost>,
}

impl Amqp {
    pub(super) async fn raise(plans: &[Placed], inside_too: bool) -> Self {
        let server = shared().await.unwrap();
        let backbone = host(server, Self::provisioned(plans)).await;
        let mut inside = BTreeMap::new();
        for placed in plans {
            let (who, may) = (placed.gateway(), placed.between(plans));
            let user = account(&who).permitted(&who, &may, Declares::Nothing);
            backbone.account(&user).await.unwrap();
            if inside_too {
                let bus = host(server, Definitions::new()).await;
                for (who, may) in placed.inside() {
                    let user = account(&who).permitted(&who, &may, Declares::Own);
                    bus.account(&user).await.unwrap();
                }
                inside.insert(placed.number, bus);
            }
        }
        Self { server, backbone, inside }
    }

    /// The queue of each mailbox that somebody may listen to.
    fn provisioned(plans: &[Placed]) -> Definitions {
        let mut definitions = Definitions::new();
        for placed in plans {
            for rule in placed.between(plans).subscribe.allowed() {
                if rule.filter.as_str().starts_with("_INBOX.") {
                    continue;
                }
                let queue = match &rule.group {
                    None => {
                        let user = placed.gateway().amqp_user();
                        AmqpQueue::of_subscription(&user, &rule.filter)
                    }
                    Some(group) => AmqpQueue::of_group(group, &rule.filter).unwrap(),
                };
                definitions = definitions.queue(HERE, &queue.name, &json!({}));
                for (exchange, key) in &queue.bindings {
                    let exchange = exchange.as_str();
                    definitions = definitions.binding(HERE, exchange, &queue.name, key.as_str());
                }
            }
        }
        definitions
    }

    pub(super) async fn dial(&self, who: &Principal, inside: Option<&Placed>) -> Connection {
        let host = inside.map_or(&self.backbone, |placed| &self.inside[&placed.number]);
        let account = account(who);
        let url = host.url_of(account.name(), account.password());
        let target = target::of(&url, &self.server.fingerprint(), who).unwrap();
        connect(target, AmqpOptions::default()).await.unwrap()
    }

    pub(super) async fn held(&self) -> Held {
        let management = self.backbone.management();
        let host = self.backbone.name();
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for binding in management.get(&["bindings", host]).await.unwrap().as_array().unwrap() {
            if binding["source"] != "" {
                let text = |field: &str| binding[field].as_str().unwrap().to_owned();
                keys.entry(text("destination")).or_default().push(text("routing_key"));
            }
        }
        // A queue stays when nobody reads it: only who consumes listens.
        let mut filters = Vec::new();
        for consumer in management.get(&["consumers", host]).await.unwrap().as_array().unwrap() {
            let queue = consumer["queue"]["name"].as_str().unwrap();
            if queue.starts_with("live.") {
                filters.extend(keys.get(queue).into_iter().flatten().cloned());
            }
        }
        Held { subscriptions: filters.len(), filters: Some(filters.into_iter().collect()) }
    }
}

/// A name that importing replaces by the virtual host's own.
const HERE: &str = "here";

async fn host(server: &RabbitServer, mut definitions: Definitions) -> VirtualHost {
    for exchange in AmqpExchange::NAMED {
        definitions = definitions.exchange(HERE, exchange.as_str(), "topic");
    }
    let host = server.virtual_host().await.unwrap();
    host.import(&definitions).await.unwrap();
    host
}

/// Users are the node's, and so of all tests: one password for each.
fn account(who: &Principal) -> Account {
    let user = who.amqp_user();
    Account::new(user.clone(), format!("secret of {user}"))
}
