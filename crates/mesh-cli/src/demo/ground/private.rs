//! A broker that is started for the demo, and ends with it.

use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::mx::MailboxKind;
use mesh_core::name::{InstanceName, RealmName};
use mesh_core::permissions::Permissions;
use mesh_testkit::servers::ServerError;
use mesh_testkit::servers::nats::{Account, Layout, MeshServer, User};
use mesh_testkit::servers::rabbit;

use super::credentials::{BESIDE_MODULES, Credentials};
use super::server::Server;
use super::way::Kind;
use crate::demo::federation::{GATEWAYS, KINDS, REALMS};
use crate::demo::{DemoError, FlowName};

/// Starts one, with a certificate of its own and a user for everybody, and reaches it.
pub(super) async fn start(
    kind: Kind,
    mesh: &Mesh,
    broken: Option<FlowName>,
) -> Result<Server, DemoError> {
    let widens = broken == Some(FlowName::Refused);
    match kind {
        Kind::Nats => nats(mesh, widens).await,
        Kind::Amqp => amqp(mesh, widens).await,
    }
}

async fn nats(mesh: &Mesh, widens: bool) -> Result<Server, DemoError> {
    let mut layout = Layout::split(mesh)?;
    if widens {
        layout = widened(layout);
    }
    for (principal, rights) in gateways()? {
        layout = layout.with_user(User::new(Account::Backbone, principal, rights)?);
    }
    let server = MeshServer::launch(layout).await?;
    let mut credentials = Credentials::default();
    for user in server.layout().users() {
        let credential = server.credential(user.name())?;
        // The controller's second user comes after its first, and has no streams.
        let first = server.layout().user_of(&user.principal).map(User::name) == Some(user.name());
        credentials = match first {
            true => credentials.with(Kind::Nats, &credential)?,
            false => credentials.with_named(BESIDE_MODULES, Kind::Nats, &credential)?,
        };
    }
    Server::reach(Kind::Nats, credentials, mesh, Some(Box::new(server))).await
}

async fn amqp(mesh: &Mesh, widens: bool) -> Result<Server, DemoError> {
    let mut layout = rabbit::Layout::of(mesh)?;
    if widens {
        layout = layout.widened();
    }
    for (principal, rights) in gateways()? {
        layout = layout.with_gateway(principal, rights)?;
    }
    let server = rabbit::MeshServer::launch(layout).await?;
    let mut credentials = Credentials::default();
    for user in server.layout().users() {
        credentials = credentials.with(Kind::Amqp, &server.credential(user)?)?;
    }
    Server::reach(Kind::Amqp, credentials, mesh, Some(Box::new(server))).await
}

/// The same with rights too many for everybody who is to be refused something.
fn widened(layout: Layout) -> Layout {
    let widened = |user: &User| match user.principal {
        Principal::Module { .. } | Principal::Person { .. } => {
            let mut user = user.clone();
            user.permissions = Permissions::everything();
            Some(user)
        }
        _ => None,
    };
    let users: Vec<User> = layout.users().iter().filter_map(widened).collect();
    users.into_iter().fold(layout, Layout::with_user)
}

/// The gateways of both realms: each listens to its own mailboxes, and writes to the other's.
fn gateways() -> Result<[(Principal, Permissions); 2], DemoError> {
    let gateway = |mine: usize, peer: usize| {
        let realm = |which: usize| RealmName::new(REALMS[which]);
        let name = InstanceName::new(GATEWAYS[mine])?;
        let peer = realm(peer)?;
        let peers: Vec<(RealmName, MailboxKind)> =
            KINDS.iter().map(|kind| (peer.clone(), *kind)).collect();
        let rights = Permissions::of_gateway(&name, &realm(mine)?, &KINDS, &peers);
        Ok::<_, DemoError>((Principal::Gateway { name }, rights))
    };
    Ok([gateway(0, 1)?, gateway(1, 0)?])
}

impl From<ServerError> for DemoError {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::NoProgram(why) => Self::NoServer(why),
            other => Self::Server(Box::new(other)),
        }
    }
}
