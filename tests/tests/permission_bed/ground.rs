//! The two brokers: a real nats-server with the composed file, and the one in the process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use mesh_control::compose::{self, Accounts, Composition, User, Verifier, Verifiers};
use mesh_control::perm::Act;
use mesh_core::message::Message;
use mesh_core::permissions::{Permissions, Verdict};
use mesh_core::port::{Connection, ErrorKind, SubscribeOptions, Subscription, TransportError};
use mesh_core::topology::Account;
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer, Place, RawNats, Settled};
use mesh_transport_mem::InMemoryMesh;

/// What somebody is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Through,
    Refused,
    /// The reply address alone is refused.
    BrokersReply,
}

impl From<Verdict> for Told {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allowed => Self::Through,
            Verdict::NotAllowed | Verdict::Denied => Self::Refused,
            Verdict::BrokersReply => Self::BrokersReply,
        }
    }
}

pub const PASSWORD: &str = "everybody's in this bed";

/// The same for everybody: a hash takes its time.
static HASH: LazyLock<Verifier> =
    LazyLock::new(|| Verifier::bcrypt(&bcrypt::hash(PASSWORD, 4).unwrap()).unwrap());

struct Everybody;

impl Verifiers for Everybody {
    fn verifier(&self, _user: &str) -> Option<Verifier> {
        Some(HASH.clone())
    }
}

/// How many lines go to the server before its answers are read.
const TOGETHER: usize = 200;

/// A real server, with a connection of each user who tried something.
pub struct Real {
    server: NatsServer,
    certificate: Certificate,
    clients: BTreeMap<String, RawNats>,
}

impl Real {
    /// One with the composed file.
    pub async fn launch(composition: &Composition) -> Self {
        let certificate = Certificate::local().unwrap();
        let config = composed(composition, &certificate);
        let server = NatsServer::launch(config).await.unwrap();
        Self { server, certificate, clients: BTreeMap::new() }
    }

    /// One with these accounts, for what a composition does not have.
    pub async fn with(accounts: &Accounts) -> Self {
        let certificate = Certificate::local().unwrap();
        let config = NatsConfig::new().tls(certificate.clone()).jetstream();
        let config = config.with(accounts.text().unwrap());
        let server = NatsServer::launch(config).await.unwrap();
        Self { server, certificate, clients: BTreeMap::new() }
    }

    /// The same with another composed file. Who was connected is not any more.
    pub async fn reload(&mut self, composition: &Composition) {
        self.clients.clear();
        self.server.reload(composed(composition, &self.certificate)).await.unwrap();
    }

    /// A connection of this user.
    pub async fn client(&mut self, user: &str) -> &mut RawNats {
        if !self.clients.contains_key(user) {
            let client = self.log_in(user).await;
            let client = client.unwrap_or_else(|error| panic!("{user} is not let in: {error}"));
            self.clients.insert(user.to_owned(), client);
        }
        self.clients.get_mut(user).unwrap()
    }

    pub async fn log_in(&self, user: &str) -> Result<RawNats, String> {
        let mut client = RawNats::connect(&self.server).await.unwrap();
        match client.login(user, PASSWORD).await {
            Ok(()) => Ok(client),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What the server says to each of these.
    pub async fn told(&mut self, user: &str, acts: &[Act]) -> Vec<Told> {
        let client = self.client(user).await;
        let mut told = Vec::new();
        for acts in acts.chunks(TOGETHER) {
            let lines: Vec<Vec<u8>> = acts.iter().map(line).collect();
            let answers = client.each(&lines).await.unwrap();
            told.extend(answers.iter().zip(acts).map(|(settled, act)| read(settled, act)));
        }
        told
    }
}

fn composed(composition: &Composition, certificate: &Certificate) -> NatsConfig {
    let composition = composition.clone();
    let file = move |place: &Place| {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let (cert, key) = place.certificate.as_ref().unwrap();
        let place = compose::Place {
            listen: Some(place.client),
            monitor: Some(place.monitoring),
            tls: Some((text(cert), text(key))),
            store_dir: Some(text(&place.store)),
            ..compose::Place::default()
        };
        composition.nats(&Everybody, &place).unwrap()
    };
    NatsConfig::composed(file).tls(certificate.clone())
}

/// These users, and no other, as a server is told of them.
pub fn accounts<'u>(
    composition: &Composition,
    users: impl IntoIterator<Item = (&'u str, compose::Account, &'u Permissions)>,
) -> Accounts {
    let none = Accounts::of(composition.bus());
    users
        .into_iter()
        .fold(none, |all, (name, account, may)| all.with(name, account, may, &HASH).unwrap())
}

/// A subscription is given up at once, so that nothing is heard.
fn line(act: &Act) -> Vec<u8> {
    let text = match act {
        Act::Publish { subject, reply: None } => format!("PUB {subject} 0\r\n\r\n"),
        Act::Publish { subject, reply: Some(reply) } => format!("PUB {subject} {reply} 0\r\n\r\n"),
        Act::Subscribe { filter, group: None } => format!("SUB {filter} 9\r\nUNSUB 9\r\n"),
        Act::Subscribe { filter, group: Some(group) } => {
            format!("SUB {filter} {group} 9\r\nUNSUB 9\r\n")
        }
    };
    text.into_bytes()
}

fn read(settled: &Settled, act: &Act) -> Told {
    match settled.errors.as_slice() {
        [] => Told::Through,
        [one] if one.starts_with("Permissions Violation for Publish with Reply of") => {
            Told::BrokersReply
        }
        [one] if one.starts_with("Permissions Violation for") => Told::Refused,
        other => panic!("{act}: the server says {other:?}"),
    }
}

/// The broker in the process, with the users of a composition.
pub struct Memory {
    pub mesh: InMemoryMesh,
    connections: BTreeMap<String, Connection>,
}

impl Memory {
    pub async fn raise(composition: &Composition) -> Self {
        let mesh = InMemoryMesh::raise(composition.mesh().clone()).await.unwrap();
        mesh.reload(users(composition)).unwrap();
        Self { mesh, connections: BTreeMap::new() }
    }

    pub fn connection(&mut self, user: &str) -> &Connection {
        let log_in = || self.mesh.log_in(user).unwrap();
        self.connections.entry(user.to_owned()).or_insert_with(log_in)
    }

    /// What it says to each of these.
    pub async fn told(&mut self, user: &str, acts: &[Act]) -> Vec<Told> {
        let connection = self.connection(user);
        let mut told = Vec::new();
        for act in acts {
            told.push(of(try_it(connection, act).await.map(drop)));
        }
        told
    }
}

/// The users of a composition, as the broker in the process takes them.
pub fn users(composition: &Composition) -> Vec<mesh_transport_mem::User> {
    let users = composition.users().iter().filter_map(user);
    users.collect()
}

pub fn user(user: &User) -> Option<mesh_transport_mem::User> {
    let account = match user.account() {
        compose::Account::Bus => Account::Bus,
        compose::Account::Edge => Account::Edge,
        // Who has no part in the mesh is in an account without its streams.
        compose::Account::Mesh | compose::Account::Backbone => Account::Whole,
        _ => return None,
    };
    Some(mesh_transport_mem::User {
        name: user.name().to_owned(),
        account,
        principal: user.principal().clone(),
        permissions: user.permissions(),
    })
}

pub async fn try_it(
    connection: &Connection,
    act: &Act,
) -> Result<Option<Subscription>, TransportError> {
    let transport = connection.transport();
    match act {
        Act::Publish { subject, reply } => {
            let message = Message::new(subject.clone(), "");
            let message = match reply {
                Some(reply) => message.with_reply(reply.clone()),
                None => message,
            };
            transport.publish(message, Default::default()).await.map(|()| None)
        }
        Act::Subscribe { filter, group } => {
            let options = SubscribeOptions { group: group.clone(), ..Default::default() };
            transport.subscribe(filter.clone(), options).await.map(Some)
        }
    }
}

pub fn of(result: Result<(), TransportError>) -> Told {
    match result {
        Ok(()) => Told::Through,
        Err(error) if error.kind() != ErrorKind::Denied => Told::Through,
        Err(error) if error.to_string().contains("reply address is the broker's own") => {
            Told::BrokersReply
        }
        Err(_) => Told::Refused,
    }
}
