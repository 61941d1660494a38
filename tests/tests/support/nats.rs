//! A private nats-server as a bed of the suite: a server for each case, a user for each account that
//! a case dials as. In one account with the streams, or in the split layout of protocol §4, where the
//! streams and who uses the server's API are in BUS and everybody else is in EDGE.

use std::sync::Arc;

use async_trait::async_trait;
use mesh_core::credential::Login;
use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::name::ConsumerName;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Capability, Connection, DriftMode, ErrorKind, Operation, TransportError};
use mesh_core::time::Timestamp;
use mesh_core::topology::{ConsumerRef, StreamName, Topology, api_filter};
use mesh_testkit::fixtures::{controller, node};
use mesh_testkit::servers::ServerError;
use mesh_testkit::servers::nats::{Account, Layout, NatsConfig, NatsServer, User};
use mesh_testkit::suite::{Bed, Harness, Hook, HookError, StartError};
use mesh_transport_nats::{DeadLetterKeeper, NatsOptions, Target, connect};
use tokio::sync::Mutex;

/// The users that may do everything, in EDGE or the only account, and in BUS.
const OPEN: &str = "open";
const OPEN_BUS: &str = "open-bus";

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
        let layout = self.layout()?;
        let server = NatsServer::launch(config(&layout)?).await?;
        let mut bed = Server { on: *self, server, layout: Mutex::new(layout), controller: None };
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

impl Nats {
    /// The open users, beside those of a mesh of nobody.
    fn layout(self) -> Result<Layout, StartError> {
        let mesh = Mesh::on_one_node(&node("n1"), [])?;
        let layout = match self {
            Self::OneAccount => Layout::one_account(&mesh)?,
            Self::Split => Layout::split(&mesh)?,
        };
        let open = |name, in_bus| {
            User::named(name, self.account(in_bus), controller(), Permissions::everything())
        };
        Ok(layout.with_user(open(OPEN, false)?).with_user(open(OPEN_BUS, true)?))
    }

    fn account(self, in_bus: bool) -> Account {
        match self {
            Self::OneAccount => Account::Mesh,
            Self::Split if in_bus => Account::Bus,
            Self::Split => Account::Edge,
        }
    }
}

fn config(layout: &Layout) -> Result<NatsConfig, ServerError> {
    Ok(NatsConfig::new().jetstream().with(layout.lines()?))
}

/// Whether somebody's user is beside the streams: the controller's, unless it may not use the API.
fn is_in_bus(principal: &Principal, permissions: Option<&Permissions>) -> bool {
    let api = |may: &Permissions| may.publish.permits_filter(&api_filter(), None);
    matches!(principal, Principal::Controller { .. }) && permissions.is_none_or(api)
}

struct Server {
    on: Nats,
    server: NatsServer,
    layout: Mutex<Layout>,
    /// Who makes dead letters of the server's notices.
    controller: Option<(DeadLetterKeeper, Connection)>,
}

/// How the names of users begin that a case dials as.
const DIALLED: &str = "user-";

#[async_trait]
impl Bed for Server {
    async fn connect(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, TransportError> {
        let in_bus = is_in_bus(&principal, permissions.as_ref());
        let mut layout = self.layout.lock().await;
        let name = match permissions {
            None if in_bus => OPEN_BUS.to_owned(),
            None => OPEN.to_owned(),
            Some(permissions) => {
                let name = format!("{DIALLED}{}", layout.users().len());
                let account = self.on.account(in_bus);
                let user = User::named(name.clone(), account, principal.clone(), permissions);
                let next = layout.clone().with_user(user.map_err(broken)?);
                self.server.reload(config(&next).map_err(broken)?).await.map_err(broken)?;
                *layout = next;
                name
            }
        };
        let password = layout.user(&name).map(|user| user.password().clone());
        drop(layout);
        let refused = |detail: String| {
            TransportError::new(ErrorKind::Invalid, Operation::Connect).detail(detail)
        };
        let password = password.ok_or_else(|| refused(format!("no user {name}")))?;
        let login = Login::new(name, password).map_err(|problem| refused(problem.to_string()))?;
        let target = Target::insecure_loopback(self.server.address(), login, principal)?;
        connect(target, NatsOptions::default()).await
    }

    async fn set_permissions(
        &self,
        principal: &Principal,
        permissions: &Permissions,
    ) -> Result<(), HookError> {
        let mut layout = self.layout.lock().await;
        let mut next = layout.clone();
        for user in layout.users().iter().filter(|user| user.principal == *principal) {
            if user.name().starts_with(DIALLED) {
                let mut user = user.clone();
                user.permissions = permissions.clone();
                next = next.with_user(user);
            }
        }
        self.server.reload(config(&next)?).await?;
        *layout = next;
        Ok(())
    }
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> TransportError {
    TransportError::new(ErrorKind::Broker, Operation::Connect).caused_by(error)
}
