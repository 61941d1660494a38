//! A nats-server that is started for the demo, and ends with it.

use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::mx::MailboxKind;
use mesh_core::name::{InstanceName, RealmName};
use mesh_core::permissions::Permissions;
use mesh_testkit::servers::ServerError;
use mesh_testkit::servers::nats::{Account, Layout, MeshServer, User};

use super::credentials::Credentials;
use super::nats::Nats;
use crate::demo::federation::{GATEWAYS, KINDS, REALMS};
use crate::demo::{DemoError, FlowName};

/// Starts it, with a certificate of its own and a user for everybody, and reaches it.
pub(super) async fn start(mesh: &Mesh, broken: Option<FlowName>) -> Result<Nats, DemoError> {
    let mut layout = Layout::split(mesh)?;
    if broken == Some(FlowName::Refused) {
        layout = widened(layout);
    }
    for user in gateways()? {
        layout = layout.with_user(user);
    }
    let server = MeshServer::launch(layout).await?;
    let mut credentials = Credentials::default();
    for user in server.layout().users() {
        // The controller's second user comes after its first, and has no streams.
        if server.layout().user_of(&user.principal).map(User::name) == Some(user.name()) {
            credentials = credentials.with(&server.credential(user.name())?)?;
        }
    }
    Nats::reach(credentials, mesh, Some(Box::new(server))).await
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
fn gateways() -> Result<[User; 2], DemoError> {
    let user = |mine: usize, peer: usize| {
        let realm = |which: usize| RealmName::new(REALMS[which]);
        let name = InstanceName::new(GATEWAYS[mine])?;
        let peer = realm(peer)?;
        let peers: Vec<(RealmName, MailboxKind)> =
            KINDS.iter().map(|kind| (peer.clone(), *kind)).collect();
        let rights = Permissions::of_gateway(&name, &realm(mine)?, &KINDS, &peers);
        Ok::<_, DemoError>(User::new(Account::Backbone, Principal::Gateway { name }, rights)?)
    };
    Ok([user(0, 1)?, user(1, 0)?])
}

impl From<ServerError> for DemoError {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::NoProgram(why) => Self::NoServer(why),
            other => Self::Server(Box::new(other)),
        }
    }
}
