//! The accounts and queues of a mesh on one RabbitMQ, as protocol §7 has them.

use std::fmt;

use mesh_control::compose::rabbit::{self as composed, Host, Member};
use mesh_core::credential::{BrokerUrl, Credential, Fingerprint, Fingerprints};
use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::name::InstanceName;
use mesh_core::permissions::Permissions;
use mesh_core::topology::Topology;

use super::Definitions;
use super::account::{hash_of, secret};
use crate::servers::ServerError;
use crate::servers::members::everybody;

/// The user of the controller, who declares everything.
const SUBSTRATE: &str = "substrate";

/// Who has a user in a mesh's broker, with which rights, and the queues of their calls and answers.
///
/// The controller is `substrate` and may do everything; nobody else declares anything. The queues of
/// durable consumers are not here: asserting the topology is the controller's, through the adapter under
/// test. Passwords are minted with 128 random bits.
///
/// ```
/// use mesh_core::manifest::{Mesh, ModuleManifest};
/// use mesh_testkit::servers::rabbit::Layout;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']";
/// let mesh = Mesh::on_one_node(&"n1".parse()?, [ModuleManifest::parse("mail.toml", mail)?])?;
/// let layout = Layout::of(&mesh)?;
/// let names: Vec<&str> = layout.users().iter().map(|user| user.name()).collect();
/// assert_eq!(names, ["substrate", "host.n1", "builder.n1", "n1.mail"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Layout {
    users: Vec<User>,
}

/// A user of the broker's. `Debug` hides the password.
#[derive(Clone)]
pub struct User {
    /// Who logs in as it.
    principal: Principal,
    /// What it may do; nothing is said of who may do everything.
    permissions: Option<Permissions>,
    vhost: &'static str,
    name: String,
    password: String,
}

impl User {
    /// Who logs in as it.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The name to log in with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The password.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The virtual host that it may enter.
    #[must_use]
    pub fn vhost(&self) -> &str {
        self.vhost
    }

    /// Its credential at that URL, with the broker's certificate pinned (protocol §5).
    ///
    /// # Errors
    /// [`ServerError::Layout`] for what is no URL or fingerprint.
    pub fn credential(&self, url: &str, fingerprint: &str) -> Result<Credential, ServerError> {
        let url: BrokerUrl = url.parse().map_err(ServerError::layout)?;
        let print: Fingerprint = fingerprint.parse().map_err(ServerError::layout)?;
        let pinned = Fingerprints::new(vec![print]);
        let pinned = pinned.ok_or_else(|| ServerError::layout("no certificate to pin"))?;
        Credential::new(self.principal.clone(), url, pinned).map_err(ServerError::layout)
    }

    fn member(&self) -> Member {
        let hash = hash_of(&self.name, &self.password);
        let principal = self.principal.clone();
        match &self.permissions {
            Some(permissions) => Member::new(principal, permissions.clone(), hash),
            None if self.name == SUBSTRATE => Member::controller(principal, hash),
            None => Member::new(principal, Permissions::default(), hash).widened(),
        }
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Layout {
    /// The virtual host of a mesh.
    pub const MESH: &'static str = "mesh";
    /// The virtual host where gateways of realms meet.
    pub const BACKBONE: &'static str = "backbone";

    /// Everybody whom the files know, each with the rights that follow from them: `substrate`, a host and
    /// a builder for each node, every module on each of its nodes, and every person.
    ///
    /// # Errors
    /// [`ServerError::Layout`] for names that are too long together, and for want of randomness.
    pub fn of(mesh: &Mesh) -> Result<Self, ServerError> {
        let name = InstanceName::new("c1").map_err(ServerError::layout)?;
        let controller = Principal::Controller { name };
        let mut users = vec![User {
            principal: controller,
            permissions: None,
            vhost: Self::MESH,
            name: SUBSTRATE.to_owned(),
            password: secret()?,
        }];
        for principal in everybody(mesh) {
            let permissions = mesh.permissions(&principal).map_err(ServerError::layout)?;
            users.push(user(principal, permissions, Self::MESH)?);
        }
        Ok(Self { users })
    }

    /// The same with a gateway on the backbone.
    ///
    /// # Errors
    /// [`ServerError::State`] for want of randomness.
    pub fn with_gateway(
        mut self,
        principal: Principal,
        permissions: Permissions,
    ) -> Result<Self, ServerError> {
        self.users.push(user(principal, permissions, Self::BACKBONE)?);
        Ok(self)
    }

    /// The same with every module and person allowed everything: to show what is refused otherwise.
    #[must_use]
    pub fn widened(mut self) -> Self {
        for user in &mut self.users {
            if matches!(user.principal, Principal::Module { .. } | Principal::Person { .. }) {
                user.permissions = None;
            }
        }
        self
    }

    /// The same with these passwords in place of minted ones, for several layouts on one node, whose users
    /// are the node's.
    #[must_use]
    pub fn with_passwords(mut self, password: impl Fn(&str) -> String) -> Self {
        for user in &mut self.users {
            user.password = password(&user.name);
        }
        self
    }

    /// The users: the controller's first, then hosts, builders, modules and people, then gateways.
    #[must_use]
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// The user of this principal.
    #[must_use]
    pub fn user_of(&self, principal: &Principal) -> Option<&User> {
        self.users.iter().find(|user| user.principal == *principal)
    }

    /// All this as definitions of the virtual host [`MESH`](Self::MESH), and of
    /// [`BACKBONE`](Self::BACKBONE) where there are gateways.
    ///
    /// # Errors
    /// [`ServerError::Layout`] for what has no binding.
    pub fn definitions(&self) -> Result<Definitions, ServerError> {
        self.composed(None)
    }

    /// The same with the durable queues of a topology, which the controller then finds as it would declare
    /// them.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn definitions_with(&self, topology: &Topology) -> Result<Definitions, ServerError> {
        self.composed(Some(topology))
    }

    fn composed(&self, topology: Option<&Topology>) -> Result<Definitions, ServerError> {
        let mut definitions = composed::Definitions::new();
        for vhost in [Self::MESH, Self::BACKBONE] {
            let mut users = self.users.iter().filter(|user| user.vhost == vhost).peekable();
            if users.peek().is_none() {
                continue;
            }
            let mut host = Host::new(vhost).map_err(ServerError::layout)?;
            for user in users {
                host = host.member(user.member()).map_err(ServerError::layout)?;
            }
            if let Some(topology) = topology.filter(|_| vhost == Self::MESH) {
                host = host.topology(topology).map_err(ServerError::layout)?;
            }
            definitions = definitions.with(host.definitions());
        }
        Ok(definitions.into())
    }
}

fn user(
    principal: Principal,
    permissions: Permissions,
    vhost: &'static str,
) -> Result<User, ServerError> {
    let name = principal.amqp_user();
    Ok(User { principal, permissions: Some(permissions), vhost, name, password: secret()? })
}
