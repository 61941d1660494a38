//! The accounts and users of a mesh on one nats-server, as protocol §4 isolates them.

mod text;
mod user;

use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::name::InstanceName;
use mesh_core::permissions::Permissions;
use mesh_core::store::BucketName;

use crate::servers::ServerError;
use crate::servers::members::everybody;

pub use user::{Account, User};

/// Who has a user in which account of a mesh's server, and with which rights (protocol §4).
///
/// In the split layout the streams are in BUS, with the controller; everybody else is in EDGE, and what
/// passes between the two is written out. There is a system account without users, so nothing is in
/// `$G`. Passwords are minted with 128 random bits, and stand in the file as they are.
///
/// ```
/// use mesh_core::manifest::{Mesh, ModuleManifest};
/// use mesh_testkit::servers::nats::{Account, Layout};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']";
/// let mesh = Mesh::on_one_node(&"n1".parse()?, [ModuleManifest::parse("mail.toml", mail)?])?;
/// let layout = Layout::split(&mesh)?;
/// let names: Vec<&str> = layout.users().iter().map(|user| user.name()).collect();
/// assert_eq!(names, ["controller", "controller-edge", "host.n1", "builder.n1", "mail.n1"]);
/// assert_eq!(layout.user("mail.n1").map(|user| user.account), Some(Account::Edge));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Layout {
    users: Vec<User>,
    services: Vec<String>,
    edge_connections: u32,
    edge_subscriptions: u32,
}

/// Far below what a server of a mesh has room for, and far above what a mesh uses.
const EDGE_SUBSCRIPTIONS: u32 = 1_000_000;

/// Below what a server takes in all unless told otherwise, so that the controller can always connect.
const EDGE_CONNECTIONS: u32 = 60_000;

impl Layout {
    /// Everybody whom the files know, each with the rights that follow from them: `controller` and
    /// `controller-edge`, a host and a builder for each node, every module on each of its nodes, and
    /// every person. Names are the tokens of their inboxes: `mail.n1`, `host.n1`, `person.ada`.
    ///
    /// # Errors
    /// [`ServerError::Layout`] for names that are too long together, and for want of randomness.
    pub fn split(mesh: &Mesh) -> Result<Self, ServerError> {
        let controller = || Ok(Principal::Controller { name: name("c1")? });
        let on_bus = Permissions::of_controller_bus();
        let on_edge = Permissions::of_controller_edge();
        let controllers = [
            User::named("controller", Account::Bus, controller()?, on_bus)?,
            User::named("controller-edge", Account::Edge, controller()?, on_edge)?,
        ];
        Self::of(mesh, controllers, Account::Edge)
    }

    /// The same in one account, MESH, where the controller has one user with all its rights. To be
    /// shown for what it lets through: whoever may acknowledge can delete any stream (protocol §4).
    ///
    /// # Errors
    /// As [`split`](Self::split).
    pub fn one_account(mesh: &Mesh) -> Result<Self, ServerError> {
        let controller = Principal::Controller { name: name("c1")? };
        let rights = Permissions::of_controller();
        let controller = User::named("controller", Account::Mesh, controller, rights)?;
        Self::of(mesh, [controller], Account::Mesh)
    }

    /// Nobody yet: for gateways and realms without a mesh, whose users are added.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            users: Vec::new(),
            services: Vec::new(),
            edge_connections: EDGE_CONNECTIONS,
            edge_subscriptions: EDGE_SUBSCRIPTIONS,
        }
    }

    fn of(
        mesh: &Mesh,
        controllers: impl Into<Vec<User>>,
        account: Account,
    ) -> Result<Self, ServerError> {
        let mut users = controllers.into();
        for principal in everybody(mesh) {
            let permissions = mesh.permissions(&principal).map_err(ServerError::layout)?;
            users.push(User::new(account, principal, permissions)?);
        }
        Ok(Self { users, ..Self::empty() })
    }

    /// The same with this user, in place of one of the same name.
    #[must_use]
    pub fn with_user(mut self, user: User) -> Self {
        match self.users.iter_mut().find(|other| other.name() == user.name()) {
            Some(other) => *other = user,
            None => self.users.push(user),
        }
        self
    }

    /// The same without the user of this name: one whose right to be there was taken away.
    #[must_use]
    pub fn without_user(mut self, name: &str) -> Self {
        self.users.retain(|user| user.name() != name);
        self
    }

    /// The same with an account for what the gateways of realm number `realm` share (protocol §8): its users
    /// are `state.<realm>.<gateway>` for each gateway, and `state.<realm>.administrator`, who makes the
    /// buckets.
    ///
    /// # Errors
    /// [`ServerError::Layout`] for want of randomness.
    pub fn with_state(
        mut self,
        realm: u16,
        gateways: &[InstanceName],
        buckets: &[BucketName],
    ) -> Result<Self, ServerError> {
        let account = Account::State(realm);
        let administrator = name("administrator")?;
        let rights = Permissions::of_state_administrator(&administrator, buckets);
        let mut users = vec![(Principal::Controller { name: administrator }, rights)];
        for name in gateways {
            let rights = Permissions::of_gateway_state(name, buckets);
            users.push((Principal::Gateway { name: name.clone() }, rights));
        }
        for (principal, rights) in users {
            let (_, which) = principal.inbox_tokens();
            let name = format!("state.{realm}.{which}");
            self = self.with_user(User::named(name, account, principal, rights)?);
        }
        Ok(self)
    }

    /// The same with one more service that BUS lends to EDGE: to show what it would let through.
    #[must_use]
    pub fn with_service(mut self, subject: impl Into<String>) -> Self {
        self.services.push(subject.into());
        self
    }

    /// The same with at most so many connections in EDGE; 60 000 unless told.
    #[must_use]
    pub fn with_edge_connections(mut self, most: u32) -> Self {
        self.edge_connections = most;
        self
    }

    /// The same with at most so many subscriptions of each connection in EDGE: the server counts an
    /// account's limit so. 1 000 000 unless told.
    #[must_use]
    pub fn with_edge_subscriptions(mut self, most: u32) -> Self {
        self.edge_subscriptions = most;
        self
    }

    /// The users: the controller's first, then hosts, builders, modules and people, then whoever was
    /// added.
    #[must_use]
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// The user of this name.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<&User> {
        self.users.iter().find(|user| user.name() == name)
    }

    /// The first user of this principal: of the controller's two the one that has the streams.
    #[must_use]
    pub fn user_of(&self, principal: &Principal) -> Option<&User> {
        self.users.iter().find(|user| user.principal == *principal)
    }

    /// The part of a configuration that says all this, passwords and all, for
    /// [`NatsConfig::with`](super::NatsConfig::with).
    #[must_use]
    pub fn lines(&self) -> String {
        text::lines(self)
    }
}

fn name(text: &str) -> Result<InstanceName, ServerError> {
    InstanceName::new(text).map_err(ServerError::layout)
}
