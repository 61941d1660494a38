//! A private RabbitMQ as a bed of the suite: a virtual host for each case, and a user for each principal
//! that dials, whose rights follow from its permissions.

#[path = "amqp/target.rs"]
mod target;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Capability, Connection, DriftMode, ErrorKind, Operation, TransportError};
use mesh_core::topology::Topology;
use mesh_testkit::fixtures::controller;
use mesh_testkit::servers::rabbit::{self, Account, Declares, RabbitServer, VirtualHost};
use mesh_testkit::suite::{Bed, Harness, StartError};
use mesh_transport_amqp::{AmqpOptions, connect};
use tokio::sync::Mutex;

/// What a connection to RabbitMQ promises.
pub const PROMISED: [Capability; 9] = [
    Capability::Wildcards,
    Capability::QueueGroups,
    Capability::ReceiverCheck,
    Capability::Requests,
    Capability::DurableConsumers,
    Capability::NewestPerSubject,
    Capability::DelayedNak,
    Capability::DeadLetters,
    Capability::Permissions,
];

/// A harness whose beds share one node.
#[derive(Debug, Clone, Copy)]
pub struct Amqp;

#[async_trait]
impl Harness for Amqp {
    fn promised(&self) -> Vec<Capability> {
        PROMISED.into()
    }

    /// A broker on a busy machine takes its time over a queue that is written to disk.
    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }

    async fn start(&self, topology: &Topology) -> Result<Arc<dyn Bed>, StartError> {
        let server = rabbit::shared().await?;
        let bed = Host {
            server,
            host: Mutex::new(Some(server.virtual_host().await?)),
            known: Mutex::default(),
        };
        let controller = bed.connect(controller(), None).await?;
        let drift = controller.administration()?.assert(topology, DriftMode::Report).await?;
        if !drift.is_empty() {
            return Err(format!("an empty virtual host differs: {drift:?}").into());
        }
        controller.transport().close(self.patience()).await;
        Ok(Arc::new(bed))
    }
}

/// One virtual host.
struct Host {
    server: &'static RabbitServer,
    host: Mutex<Option<VirtualHost>>,
    /// With which permissions each user is there.
    known: Mutex<HashMap<String, Option<Permissions>>>,
}

#[async_trait]
impl Bed for Host {
    async fn connect(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, TransportError> {
        let user = principal.amqp_user();
        // Users are the node's, and so of all tests: one password for each.
        let password = format!("secret of {user}");
        let host = self.host.lock().await;
        let host = host.as_ref().ok_or_else(|| refused("the bed is stopped"))?;
        let mut known = self.known.lock().await;
        match known.get(&user) {
            Some(there) if *there == permissions => {}
            Some(_) => return Err(refused("this user is there with other permissions")),
            None => {
                let account = Account::new(user.clone(), password.clone());
                let account = match &permissions {
                    None => account.all_rights(),
                    Some(permissions) => account.permitted(&principal, permissions, Declares::Own),
                };
                host.account(&account).await.map_err(|error| refused(error.to_string()))?;
                known.insert(user.clone(), permissions);
            }
        }
        drop(known);
        let target =
            target::of(&host.url_of(&user, &password), &self.server.fingerprint(), &principal);
        connect(target?, AmqpOptions::default()).await
    }

    async fn stop(&self) {
        if let Some(host) = self.host.lock().await.take() {
            // The node ends with the process, and this with it.
            let _ = host.remove().await;
        }
    }
}

fn refused(detail: impl Into<std::borrow::Cow<'static, str>>) -> TransportError {
    TransportError::new(ErrorKind::Invalid, Operation::Connect).detail(detail)
}
