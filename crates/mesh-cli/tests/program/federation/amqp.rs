//! The same on RabbitMQ: a virtual host for the backbone, and one inside.

use mesh_core::identity::Principal;
use mesh_core::topology::{AmqpExchange, AmqpQueue};
use mesh_federation::{Call, ComponentHost, HostOptions};
use mesh_testkit::servers::rabbit::{
    Account, Declares, Definitions, RabbitServer, VirtualHost, shared,
};
use serde_json::json;

use super::super::{Folder, mesh, text};
use super::bed::{REALMS, app, between, gateway, inside, operator};
use super::process::Process;

const HERE: &str = "here";

async fn host(server: &RabbitServer, mut definitions: Definitions) -> VirtualHost {
    for exchange in AmqpExchange::NAMED {
        definitions = definitions.exchange(HERE, exchange.as_str(), "topic");
    }
    let host = server.virtual_host().await.unwrap();
    host.import(&definitions).await.unwrap();
    host
}

/// The queues of the mailboxes: gateways declare nothing on a backbone.
fn mailboxes() -> Definitions {
    let mut definitions = Definitions::new();
    for which in 0..REALMS.len() {
        for rule in between(which).subscribe.allowed() {
            let Some(group) = &rule.group else { continue };
            let queue = AmqpQueue::of_group(group, &rule.filter).unwrap();
            definitions = definitions.queue(HERE, &queue.name, &json!({}));
            for (exchange, key) in &queue.bindings {
                let exchange = exchange.as_str();
                definitions = definitions.binding(HERE, exchange, &queue.name, key.as_str());
            }
        }
    }
    definitions
}

fn account(who: &Principal) -> Account {
    let user = who.amqp_user();
    Account::new(user.clone(), format!("secret of {user}"))
}

fn document(server: &RabbitServer, host: &VirtualHost, who: &Principal) -> String {
    let account = account(who);
    let (kind, name) = who.inbox_tokens();
    let mut document = match who {
        Principal::Module { node, module } => {
            json!({ "node": node.as_str(), "module": module.as_str() })
        }
        _ => json!({ "kind": kind, "name": name }),
    };
    document["url"] = host.url_of(account.name(), account.password()).into();
    document["fingerprint"] = server.fingerprint().into();
    document.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_realms_call_each_other_on_rabbitmq() {
    let server = shared().await.unwrap();
    let backbone = host(server, mailboxes()).await;
    let folder = Folder::new("federation-amqp");
    let mut buses = Vec::new();
    for (which, (realm, short)) in REALMS.iter().enumerate() {
        let (who, may) = (gateway(which), between(which));
        backbone.account(&account(&who).permitted(&who, &may, Declares::Nothing)).await.unwrap();
        let bus = host(server, Definitions::new()).await;
        for (who, may) in inside(which) {
            bus.account(&account(&who).permitted(&who, &may, Declares::Own)).await.unwrap();
        }
        folder.write(&format!("{short}/backbone.json"), document(server, &backbone, &who));
        folder.write(&format!("{short}/gateway.json"), document(server, &bus, &who));
        folder.write(&format!("{short}/person.json"), document(server, &bus, &operator()));
        folder.write(&format!("{short}/app.json"), document(server, &bus, &app()));
        folder.write(
            &format!("{short}/gateway.toml"),
            format!(
                "realm = '{realm}'\nbackbone = {{ credential = 'backbone.json' }}\n\
                 local = {{ credential = 'gateway.json' }}\n"
            ),
        );
        buses.push(bus);
    }
    let path = |file: &str| folder.0.join(file).display().to_string();
    let (_acme, _) = Process::serve(&path("acme/gateway.toml"));
    let (_shop, _) = Process::serve(&path("shop/gateway.toml"));
    let credential = mesh_core::credential::Credential::parse(
        std::fs::read_to_string(path("shop/app.json")).unwrap(),
    );
    let target = mesh_transport_amqp::Target::of(&credential.unwrap()).unwrap();
    let options = mesh_transport_amqp::AmqpOptions::default();
    let connection = mesh_transport_amqp::connect(target, options).await.unwrap();
    let host =
        ComponentHost::new("shop.example".parse().unwrap(), connection, HostOptions::default());
    let echo = |call: Call| async move { Ok(call.params) };
    let _counts = host.accept("stock.accepts.count".parse().unwrap(), echo).await.unwrap();

    let credential = path("acme/person.json");
    let uri = "matrix://shop.example/stock.accepts.count";
    let run = mesh(&[
        "federation",
        "call",
        uri,
        "[7]",
        "--realm",
        "acme.com",
        "--credential",
        &credential,
    ]);
    assert_eq!(run.status.code(), Some(0), "{}{}", text(&run.stdout), text(&run.stderr));
    assert_eq!(text(&run.stdout), "[7]\n");
    let run = mesh(&["federation", "guards", "--realm", "acme.com", "--credential", &credential]);
    assert_eq!(run.status.code(), Some(0), "{}{}", text(&run.stdout), text(&run.stderr));
    assert!(text(&run.stdout).contains("acme.com"), "{}", text(&run.stdout));
}
