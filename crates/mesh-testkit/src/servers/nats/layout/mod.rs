//! The accounts and users of a mesh on one nats-server, as protocol §4 isolates them.

mod user;

use mesh_control::compose::{Accounts, Composition, More};
use mesh_core::identity::Principal;
use mesh_core::manifest::{Bus, Isolation, Mesh};
use mesh_core::name::InstanceName;
use mesh_core::permissions::Permissions;
use mesh_core::store::BucketName;

use crate::servers::ServerError;

pub use mesh_control::compose::Account;
pub use user::User;

/// Who has a user in which account of a mesh's server, and with which rights (protocol §4).
///
/// In the split layout the streams are in BUS, with the controller; everybody else is in EDGE, and what
/// passes between the two is written out. There is a system account without users, so nothing is in
/// `$G`. Passwords are minted with 128 random bits, and the file holds their hashes. All of it is composed by
/// `mesh-control`, as a real server's file is.
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
/// assert_eq!(names, ["builder.n1", "controller", "controller-edge", "host.n1", "mail.n1"]);
/// assert_eq!(layout.user("mail.n1").map(|user| user.account), Some(Account::Edge));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Layout {
    users: Vec<User>,
    services: Vec<String>,
    bus: Bus,
}

impl Layout {
    /// Everybody whom the files know, each with the rights that follow from them: `controller` and
    /// `controller-edge`, a host and a builder for each node, every module on each of its nodes, and
    /// every person. Names are the tokens of their inboxes: `mail.n1`, `host.n1`, `person.ada`.
    ///
    /// # Errors
    /// [`ServerError::Layout`] for names that are too long together, and for want of randomness.
    pub fn split(mesh: &Mesh) -> Result<Self, ServerError> {
        Self::of(mesh, Isolation::Split)
    }

    /// The same in one account, MESH, where the controller has one user with all its rights. To be
    /// shown for what it lets through: whoever may acknowledge can delete any stream (protocol §4).
    ///
    /// # Errors
    /// As [`split`](Self::split).
    pub fn one_account(mesh: &Mesh) -> Result<Self, ServerError> {
        Self::of(mesh, Isolation::OneAccount)
    }

    /// Nobody yet: for gateways and realms without a mesh, whose users are added.
    #[must_use]
    pub fn empty() -> Self {
        Self { users: Vec::new(), services: Vec::new(), bus: Bus::default() }
    }

    fn of(mesh: &Mesh, isolation: Isolation) -> Result<Self, ServerError> {
        let mut bus = Bus::default();
        bus.isolation = isolation;
        Self::composed(mesh, &bus)
    }

    /// The same on a bus that says how accounts are made: isolation, answers, limits.
    ///
    /// # Errors
    /// As [`split`](Self::split).
    pub fn composed(mesh: &Mesh, bus: &Bus) -> Result<Self, ServerError> {
        let composition = Composition::of_mesh(mesh, bus, &More::default());
        Self::of_composition(&composition.map_err(ServerError::layout)?)
    }

    /// Everybody who has a user in that composition, and its bus.
    ///
    /// # Errors
    /// [`ServerError::Layout`] for want of randomness.
    pub fn of_composition(composition: &Composition) -> Result<Self, ServerError> {
        let mut users = Vec::new();
        for user in composition.users() {
            let (name, principal) = (user.name(), user.principal().clone());
            users.push(User::named(name, user.account(), principal, user.permissions())?);
        }
        Ok(Self { users, bus: composition.bus().clone(), ..Self::empty() })
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
        self.bus.limits.edge_connections = most;
        self
    }

    /// The same with at most so many subscriptions of each connection in EDGE: the server counts an
    /// account's limit so. 1 000 000 unless told.
    #[must_use]
    pub fn with_edge_subscriptions(mut self, most: u32) -> Self {
        self.bus.limits.edge_subscriptions = most;
        self
    }

    /// The users: everybody whom the files know by name, then whoever was added.
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

    /// The part of a configuration that says all this, as [`Accounts`] writes it, for
    /// [`NatsConfig::with`](super::NatsConfig::with). Of passwords it holds hashes.
    ///
    /// # Errors
    /// [`ServerError::Layout`] for a name or a service with a control character.
    pub fn lines(&self) -> Result<String, ServerError> {
        let mut accounts = Accounts::of(&self.bus);
        for user in &self.users {
            let added =
                accounts.with(user.name(), user.account, &user.permissions, user.verifier());
            accounts = added.map_err(ServerError::layout)?;
        }
        for service in &self.services {
            accounts = accounts.with_service(service);
        }
        accounts.text().map_err(ServerError::layout)
    }
}

fn name(text: &str) -> Result<InstanceName, ServerError> {
    InstanceName::new(text).map_err(ServerError::layout)
}
