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
        temp_assert(bed.server.address(), topology).await?;
        let notices = ConsumerRef::new(StreamName::Advisories, ConsumerName::new("controller")?);
        if false && topology.consumer(&notices).is_some() {
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
pub async fn temp_assert(
    addr: std::net::SocketAddr,
    topology: &Topology,
) -> Result<(), StartError> {
    use async_nats::jetstream::{self, consumer, stream};
    let client = async_nats::ConnectOptions::with_user_and_password(OPEN.into(), PASSWORD.into())
        .connect(addr.to_string())
        .await?;
    let js = jetstream::new(client);
    for s in topology.streams() {
        use mesh_core::topology::Retention;
        let per = s.max_messages_per_subject.map_or(-1, |v| v as i64);
        js.create_stream(stream::Config {
            name: s.name.to_string(),
            subjects: s.subjects.iter().map(|f| f.to_string()).collect(),
            retention: if s.retention == Retention::WorkQueue {
                stream::RetentionPolicy::WorkQueue
            } else {
                stream::RetentionPolicy::Limits
            },
            max_age: s.max_age.unwrap_or_default(),
            max_bytes: s.max_bytes as i64,
            max_messages_per_subject: per,
            discard: stream::DiscardPolicy::New,
            discard_new_per_subject: per > 0,
            max_message_size: s.max_message_bytes.map_or(-1, |v| v as i32),
            max_consumers: s.max_consumers as i32,
            duplicate_window: s.deduplication_window,
            allow_rollup: s.retention == Retention::NewestPerSubject,
            ..Default::default()
        })
        .await?;
    }
    for c in topology.consumers() {
        let r = &c.reference;
        let st = js.get_stream(r.stream.to_string()).await?;
        use mesh_core::topology::DeliverFrom;
        st.create_consumer(consumer::push::Config {
            durable_name: Some(r.consumer.to_string()),
            deliver_subject: format!("mesh.deliver.{}.{}", r.stream, r.consumer),
            deliver_group: c.rules.shared.then(|| r.consumer.to_string()),
            ack_policy: consumer::AckPolicy::Explicit,
            ack_wait: c.rules.ack_wait,
            max_deliver: c.rules.max_deliver.map_or(-1, i64::from),
            max_ack_pending: c.rules.max_ack_pending as i64,
            deliver_policy: match c.deliver_from {
                DeliverFrom::All => consumer::DeliverPolicy::All,
                DeliverFrom::New => consumer::DeliverPolicy::New,
                DeliverFrom::LastPerSubject => consumer::DeliverPolicy::LastPerSubject,
            },
            filter_subjects: c.filters.iter().map(|f| f.to_string()).collect(),
            ..Default::default()
        })
        .await?;
    }
    Ok(())
}
