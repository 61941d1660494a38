use std::collections::BTreeSet;
use std::sync::Arc;

use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::name::{InstanceName, ModuleName, NodeName};
use mesh_core::permissions::Permissions;
use mesh_core::port::{Connection, DriftMode, ErrorKind, Operation, TransportError};
use mesh_core::subject::SubjectError;
use parking_lot::RwLock;

use crate::InMemoryDurableBroker;
use crate::access::{Refused, Remedy};
use crate::link::{Link, Who};
use crate::users::{Entry, User, Users};

/// A whole mesh in the process, raised from its files: a durable broker that holds the mesh's
/// streams and consumers, and lets each account do what the files say and nothing else. What fails
/// here for want of a right would fail in production.
///
/// ```
/// use mesh_core::manifest::{Mesh, ModuleManifest};
/// use mesh_core::message::Message;
/// use mesh_core::subject::Subject;
/// use mesh_transport_mem::InMemoryMesh;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']";
/// let node = "n1".parse()?;
/// let files = Mesh::on_one_node(&node, [ModuleManifest::parse("mail.toml", mail)?])?;
/// let mesh = InMemoryMesh::raise(files).await?;
///
/// let mail = mesh.module(&node, &"mail".parse()?)?;
/// let streams = mail.streams()?;
/// let event = |subject: &str| Subject::new(subject).map(|subject| Message::new(subject, "{}"));
/// assert!(streams.append(event("mesh.events.mail.sent")?, Default::default()).await.is_ok());
/// assert!(streams.append(event("mesh.events.mail.lost")?, Default::default()).await.is_err());
/// # Ok(())
/// # }
/// ```
///
/// A refusal says what the file lacks:
///
/// ```
/// # use mesh_core::manifest::{Mesh, ModuleManifest};
/// # use mesh_core::message::Message;
/// # use mesh_core::subject::Subject;
/// # use mesh_transport_mem::InMemoryMesh;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']";
/// # let node = "n1".parse()?;
/// # let files = Mesh::on_one_node(&node, [ModuleManifest::parse("mail.toml", mail)?])?;
/// # let mesh = InMemoryMesh::raise(files).await?;
/// # let mail = mesh.module(&node, &"mail".parse()?)?;
/// let event = Message::new(Subject::new("mesh.events.mail.lost")?, "{}");
/// let refused = mail.streams()?.append(event, Default::default()).await;
/// assert_eq!(
///     refused.err().ok_or("let through")?.to_string(),
///     r#"append mesh.events.mail.lost: denied (mail.toml:3 lacks it: emits = ["sent", "lost"])"#
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct InMemoryMesh {
    mesh: Arc<Mesh>,
    users: Arc<RwLock<Users>>,
    broker: InMemoryDurableBroker,
    controller: Connection,
}

impl InMemoryMesh {
    /// Raises `mesh` on a broker of its own that goes by the machine's clock.
    ///
    /// # Errors
    /// `Broker` outside a tokio runtime; `Invalid` where the files' names are too long together.
    pub async fn raise(mesh: Mesh) -> Result<Self, TransportError> {
        let clock = Arc::new(SystemClock::new());
        Self::raise_on(InMemoryDurableBroker::new(clock), mesh).await
    }

    /// Raises `mesh` on `broker`, which may go by a clock of a test's.
    ///
    /// # Errors
    /// As [`raise`](Self::raise).
    pub async fn raise_on(
        broker: InMemoryDurableBroker,
        mesh: Mesh,
    ) -> Result<Self, TransportError> {
        let topology = mesh.topology().map_err(|error| invalid(Operation::Assert, error))?;
        let name = InstanceName::new("memory").map_err(|error| {
            TransportError::new(ErrorKind::Invalid, Operation::Connect).caused_by(error)
        })?;
        let controller =
            broker.connect(Principal::Controller { name }, Permissions::of_controller())?;
        controller.administration()?.assert(&topology, DriftMode::Report).await?;
        let users = Users::OfFiles { revoked: BTreeSet::new() };
        Ok(Self { mesh: Arc::new(mesh), users: Arc::new(RwLock::new(users)), broker, controller })
    }

    /// From now on these are the users, and nobody else is: what a server does that reloads a composed
    /// file. Who has none any more is dropped and can't come back; the others may at once do what theirs
    /// say, and what they listen to and may no longer hear ends with `Denied`. Answers that somebody owes
    /// are forgotten where they go by `responses`.
    ///
    /// Until this is called the users are those that follow from the files, in the accounts and with the
    /// answers that its `[bus]` says.
    ///
    /// ```
    /// use mesh_core::identity::Principal;
    /// use mesh_core::manifest::Mesh;
    /// use mesh_core::permissions::Permissions;
    /// use mesh_core::topology::Account;
    /// use mesh_transport_mem::{InMemoryMesh, User};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mesh = InMemoryMesh::raise(Mesh::on_one_node(&"n1".parse()?, [])?).await?;
    /// // Of a composition: its users' names, accounts, principals and permissions.
    /// let ada = Principal::Person { name: "ada".parse()? };
    /// let permissions = mesh.mesh().permissions(&ada)?;
    /// let user = User {
    ///     name: "person.ada".to_owned(),
    ///     account: Account::Edge,
    ///     principal: ada,
    ///     permissions,
    /// };
    /// mesh.reload([user])?;
    /// assert!(mesh.log_in("person.ada").is_ok());
    /// assert!(mesh.log_in("person.eve").is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Invalid` where two users have one name.
    pub fn reload(&self, users: impl IntoIterator<Item = User>) -> Result<(), TransportError> {
        let users: Vec<Arc<User>> = users.into_iter().map(Arc::new).collect();
        let mut names = BTreeSet::new();
        if let Some(twice) = users.iter().find(|user| !names.insert(user.name.as_str())) {
            let told = format!("two users are called {}", twice.name);
            return Err(TransportError::new(ErrorKind::Invalid, Operation::Connect).detail(told));
        }
        self.change(|known| *known = Users::Composed(users));
        Ok(())
    }

    /// Takes this principal's user away, as `mesh operator revoke` does: its connections are dropped, and
    /// none is made again. The answer is how many that were.
    pub fn revoke(&self, principal: &Principal) -> usize {
        self.change(|known| match known {
            Users::OfFiles { revoked } => _ = revoked.insert(principal.clone()),
            Users::Composed(users) => users.retain(|user| user.principal != *principal),
        })
    }

    /// Changes who the users are and what their connections may do; the answer is how many are dropped.
    /// The mesh's own controller stays, and so does who connected to the [`broker`](Self::broker) itself.
    fn change(&self, change: impl FnOnce(&mut Users)) -> usize {
        let users = {
            let mut users = self.users.write();
            change(&mut users);
            users.clone()
        };
        let now = |link: &Link| users.now(&self.mesh, link);
        let broker = self.broker.broker();
        let dropped = broker.sever(|link| link.login.is_some() && now(link).is_none());
        broker.set_permissions(|link| if link.login.is_some() { now(link) } else { None });
        dropped
    }

    /// The files that it was raised from.
    #[must_use]
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The broker.
    #[must_use]
    pub fn broker(&self) -> &InMemoryDurableBroker {
        &self.broker
    }

    /// The controller's connection, with the port of administration, by which a test reads what the
    /// streams keep: dead letters too (see the crate's documentation).
    #[must_use]
    pub fn controller(&self) -> &Connection {
        &self.controller
    }

    /// A connection of `principal` with the rights that its user has. By the files that is none at all,
    /// where they don't know it.
    ///
    /// # Errors
    /// `Denied` for who is revoked or has no user among those that it was [reloaded](Self::reload) with;
    /// as [`raise`](Self::raise).
    pub fn connect(&self, principal: Principal) -> Result<Connection, TransportError> {
        let entry = self.users.read().of(&self.mesh, &principal);
        let entry = entry.map_err(|error| invalid(Operation::Connect, error))?;
        let entry = entry.ok_or_else(|| nobody(&principal.to_string()))?;
        self.admit(principal, entry)
    }

    /// A connection of the user of this name, of those that it was [reloaded](Self::reload) with.
    ///
    /// # Errors
    /// `Denied`, where there is none; as [`raise`](Self::raise).
    pub fn log_in(&self, user: &str) -> Result<Connection, TransportError> {
        let found = self.users.read().named(user);
        let found = found.ok_or_else(|| nobody(user))?;
        self.admit(found.principal.clone(), found.entry())
    }

    fn admit(&self, principal: Principal, entry: Entry) -> Result<Connection, TransportError> {
        let Entry { account, login, permissions } = entry;
        let remedy = remedy(Arc::clone(&self.mesh), principal.clone());
        let who = Who { principal, account, login: Some(login) };
        self.broker.admit(who, permissions, Some(remedy))
    }

    /// A connection of `module` on `node`.
    ///
    /// # Errors
    /// As [`raise`](Self::raise).
    pub fn module(
        &self,
        node: &NodeName,
        module: &ModuleName,
    ) -> Result<Connection, TransportError> {
        self.connect(Principal::Module { node: node.clone(), module: module.clone() })
    }
}

/// What a server says to who has no user.
fn nobody(who: &str) -> TransportError {
    TransportError::new(ErrorKind::Denied, Operation::Connect).about(who).detail("it has no user")
}

/// What the files would have to say for `principal`.
fn remedy(mesh: Arc<Mesh>, principal: Principal) -> Remedy {
    Remedy(Box::new(move |refused| match refused {
        Refused::Publish(subject) => mesh.remedy_for_publish(&principal, subject),
        Refused::Subscribe(filter) => mesh.remedy_for_subscribe(&principal, filter),
        Refused::Consume(consumer) => mesh.remedy_for_consume(&principal, consumer),
    }))
}

fn invalid(operation: Operation, error: SubjectError) -> TransportError {
    TransportError::new(ErrorKind::Invalid, operation).detail(error.to_string()).caused_by(error)
}
