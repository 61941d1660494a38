//! A private nats-server as a bed of the suite: a server for each case, a user for each account that
//! a case dials as. In one account with the streams, or in the split layout of protocol §4, where the
//! streams and who uses the server's API are in BUS and everybody else is in EDGE.

use std::sync::Arc;

use async_trait::async_trait;
use mesh_core::credential::{Login, Secret};
use mesh_core::identity::Principal;
use mesh_core::name::ConsumerName;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Capability, Connection, DriftMode, ErrorKind, Operation, TransportError};
use mesh_core::time::Timestamp;
use mesh_core::topology::{ConsumerRef, StreamName, Topology, api_filter};
use mesh_testkit::fixtures::controller;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_testkit::suite::{Bed, Harness, Hook, HookError, StartError};
use mesh_transport_nats::{DeadLetterKeeper, NatsOptions, Target, connect};
use tokio::sync::Mutex;

use crate::accounts::{crossing, user};

/// The users that may do everything, in EDGE or the only account, and in BUS.
const OPEN: &str = "open";
const OPEN_BUS: &str = "open-bus";
const PASSWORD: &str = "n0t-a-secret";

/// In which accounts its users are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nats {
    OneAccount,
    Split,
}

#[async_trait]
impl Harness for Nats {
    fn promised(&self) -> Vec<Capability> {
        Capability::ALL.into()
    }

    fn offers(&self, hook: Hook) -> bool {
        hook == Hook::SetPermissions
    }

    async fn start(&self, topology: &Topology) -> Result<Arc<dyn Bed>, StartError> {
        let server = NatsServer::launch(config(*self, &[])).await?;
        let mut bed = Server { layout: *self, server, users: Mutex::default(), controller: None };
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

/// JetStream, the open users and these.
fn config(layout: Nats, users: &[User]) -> NatsConfig {
    let everything = Permissions::everything();
    let mut edge = user(OPEN, PASSWORD, &everything);
    let mut bus = user(OPEN_BUS, PASSWORD, &everything);
    for User { name, permissions, in_bus, .. } in users {
        let list = if *in_bus { &mut bus } else { &mut edge };
        list.push_str(&user(name, PASSWORD, permissions));
    }
    let (exports, imports) = crossing(None);
    let accounts = match layout {
        Nats::OneAccount => format!("MESH {{ jetstream: enabled, users: [ {edge} {bus} ] }}"),
        Nats::Split => format!(
            "BUS {{ jetstream: enabled, users: [ {bus} ], exports: [ {exports} ] }}\n\
             EDGE {{ users: [ {edge} ], imports: [ {imports} ] }}"
        ),
    };
    NatsConfig::new().jetstream().with(format!("accounts {{ {accounts} }}"))
}

/// Whether somebody's user is beside the streams: the controller's, unless it may not use the API.
fn is_in_bus(principal: &Principal, permissions: Option<&Permissions>) -> bool {
    let api = |may: &Permissions| may.publish.permits_filter(&api_filter(), None);
    matches!(principal, Principal::Controller { .. }) && permissions.is_none_or(api)
}

struct Server {
    layout: Nats,
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
    in_bus: bool,
}

#[async_trait]
impl Bed for Server {
    async fn connect(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, TransportError> {
        let in_bus = is_in_bus(&principal, permissions.as_ref());
        let user = match permissions {
            None if in_bus => OPEN_BUS.to_owned(),
            None => OPEN.to_owned(),
            Some(permissions) => {
                let mut users = self.users.lock().await;
                let name = format!("user-{}", users.len());
                let principal = principal.clone();
                users.push(User { name: name.clone(), principal, permissions, in_bus });
                self.server.reload(config(self.layout, &users)).await.map_err(broken)?;
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
        Ok(self.server.reload(config(self.layout, &users)).await?)
    }
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> TransportError {
    TransportError::new(ErrorKind::Broker, Operation::Connect).caused_by(error)
}
