//! A private nats-server as a bed of the suite: a server for each case, a user for each account that
//! a case dials as.

use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use mesh_core::credential::{Login, Secret};
use mesh_core::identity::Principal;
use mesh_core::name::ConsumerName;
use mesh_core::permissions::{Permissions, Rules};
use mesh_core::port::{Capability, Connection, DriftMode, ErrorKind, Operation, TransportError};
use mesh_core::time::Timestamp;
use mesh_core::topology::{ConsumerRef, StreamName, Topology};
use mesh_testkit::fixtures::controller;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_testkit::suite::{Bed, Harness, Hook, HookError, StartError};
use mesh_transport_nats::{DeadLetterKeeper, NatsOptions, Target, connect};
use tokio::sync::Mutex;

/// The user that may do everything.
const OPEN: &str = "open";
const PASSWORD: &str = "n0t-a-secret";

pub struct Nats;

#[async_trait]
impl Harness for Nats {
    fn promised(&self) -> Vec<Capability> {
        Capability::ALL.into()
    }

    fn offers(&self, hook: Hook) -> bool {
        hook == Hook::SetPermissions
    }

    async fn start(&self, topology: &Topology) -> Result<Arc<dyn Bed>, StartError> {
        let server = NatsServer::launch(config(&[])).await?;
        let mut bed = Server { server, users: Mutex::default(), controller: None };
        let controller = bed.connect(controller(), None).await?;
        controller.administration()?.assert(topology, DriftMode::Report).await?;
        let notices = ConsumerRef::new(StreamName::Advisories, ConsumerName::new("controller")?);
        if topology.consumer(&notices).is_some() {
            let keeper = DeadLetterKeeper::start(&controller, Timestamp::from_millis(1)).await?;
            bed.controller = Some((keeper, controller));
        }
        Ok(Arc::new(bed))
    }
}

/// One account with JetStream, and these users beside the open one.
fn config(users: &[User]) -> NatsConfig {
    let mut text = format!("{{ user: {OPEN}, password: \"{PASSWORD}\" }}\n");
    for User { name, permissions, .. } in users {
        let (publish, subscribe) = (rules(&permissions.publish), rules(&permissions.subscribe));
        let _ = writeln!(
            text,
            "{{ user: \"{name}\", password: \"{PASSWORD}\", permissions: {{ publish: {publish}, subscribe: {subscribe} }} }}"
        );
    }
    NatsConfig::new()
        .jetstream()
        .with(format!("accounts {{ MESH {{ jetstream: enabled, users: [ {text} ] }} }}"))
}

/// One side of the permissions as the server writes them. An empty list would allow everything.
fn rules(rules: &Rules) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    if rules.allowed().is_empty() {
        return "{ deny: \">\" }".to_owned();
    }
    let allowed = rules.allowed().iter().map(|rule| match &rule.group {
        Some(group) => format!("\"{} {group}\"", rule.filter),
        None => format!("\"{}\"", rule.filter),
    });
    let denied = rules.denied().iter().map(|filter| format!("\"{filter}\""));
    let denied: Vec<_> = denied.collect();
    let allow = list(allowed.collect());
    if denied.is_empty() {
        return format!("{{ allow: {allow} }}");
    }
    format!("{{ allow: {allow}, deny: {} }}", list(denied))
}

struct Server {
    server: NatsServer,
    users: Mutex<Vec<User>>,
    /// Who makes dead letters of the server's notices.
    controller: Option<(DeadLetterKeeper, Connection)>,
}

/// A user of the server's, and who dials as it.
struct User {
    name: String,
    principal: Principal,
    permissions: Permissions,
}

#[async_trait]
impl Bed for Server {
    async fn connect(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, TransportError> {
        let user = match permissions {
            None => OPEN.to_owned(),
            Some(permissions) => {
                let mut users = self.users.lock().await;
                let name = format!("user-{}", users.len());
                let principal = principal.clone();
                users.push(User { name: name.clone(), principal, permissions });
                self.server.reload(config(&users)).await.map_err(broken)?;
                name
            }
        };
        let login = Login::new(user, Secret::new(PASSWORD)).map_err(|problem| {
            TransportError::new(ErrorKind::Invalid, Operation::Connect).detail(problem.to_string())
        })?;
        let target = Target::insecure_loopback(self.server.address(), login, principal)?;
        connect(target, NatsOptions::default()).await
    }

    async fn set_permissions(
        &self,
        principal: &Principal,
        permissions: &Permissions,
    ) -> Result<(), HookError> {
        let mut users = self.users.lock().await;
        for user in users.iter_mut().filter(|user| user.principal == *principal) {
            user.permissions = permissions.clone();
        }
        Ok(self.server.reload(config(&users)).await?)
    }
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> TransportError {
    TransportError::new(ErrorKind::Broker, Operation::Connect).caused_by(error)
}
