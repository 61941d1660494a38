//! Where a gateway keeps what it has to remember.

use std::sync::Arc;

use mesh_core::port::Clock;
use mesh_core::store::{BucketName, KeyValue};
use mesh_store::{BucketBounds, Store, StoreOptions};
use mesh_transport_nats::{NatsOptions, NatsState, Source};
use std::time::Duration;

use super::super::config::{BucketText, Buckets, GatewayFile, State};
use super::super::runtime::words;
use crate::shell::Failure;

/// What is kept beyond the process; nothing, in memory.
#[derive(Default)]
pub(super) struct Stores {
    pub(super) leases: Option<Arc<dyn KeyValue>>,
    pub(super) sessions: Option<Arc<dyn KeyValue>>,
    pub(super) marks: Option<Arc<dyn KeyValue>>,
    owner: Owner,
}

#[derive(Default)]
enum Owner {
    #[default]
    Nobody,
    File(Store),
    Nats(NatsState),
}

impl Stores {
    pub(super) async fn open(file: &GatewayFile, clock: &Arc<dyn Clock>) -> Result<Self, Failure> {
        match &file.config.state {
            State::Memory => Ok(Self::default()),
            State::File(path) => {
                let path = file.path(path);
                let store = Store::open(&path, Arc::clone(clock), StoreOptions::default()).await;
                let store = store.map_err(|error| {
                    let hint =
                        "see that its folder is there, and that no other gateway has it open";
                    Failure::new(words(&error), hint).at(path.display())
                })?;
                let bucket = async |name: &str| {
                    let name = BucketName::new(name).map_err(|error| unusual(&error))?;
                    let bucket = store.key_value(&name, BucketBounds::default()).await;
                    let bucket = bucket.map_err(|error| unusual(&error).at(path.display()))?;
                    Ok::<_, Failure>(Some(Arc::new(bucket) as Arc<dyn KeyValue>))
                };
                let leases = bucket("leases").await?;
                let sessions = bucket("sessions").await?;
                let marks = bucket("marks").await?;
                Ok(Self { leases, sessions, marks, owner: Owner::File(store) })
            }
            State::Nats(buckets) => Self::nats(file, buckets).await,
        }
    }

    async fn nats(file: &GatewayFile, buckets: &Buckets) -> Result<Self, Failure> {
        let credential = file.path(&buckets.credential);
        let state = NatsState::connect(Source::file(&credential), NatsOptions::default()).await;
        let state = state.map_err(|error| {
            let hint =
                "the credential is one of the realm's own account for state on a nats-server";
            Failure::new(words(&error), hint).at(credential.display())
        })?;
        let bucket = async |named: &Option<BucketText>, usual: &str| {
            let usual = BucketName::new(usual).map_err(|error| unusual(&error))?;
            let name = named.as_ref().map_or(usual, |named| named.0.clone());
            let bucket = state.bucket(&name).await.map_err(|error| {
                let hint =
                    "an administrator makes it, once; docs/protocol.md §8 says with which settings";
                Failure::new(words(&error), hint).at(format!("bucket {name}"))
            })?;
            Ok::<_, Failure>(Some(Arc::new(bucket) as Arc<dyn KeyValue>))
        };
        let leases = bucket(&buckets.leases, "leases").await?;
        let sessions = bucket(&buckets.sessions, "sessions").await?;
        let marks = bucket(&buckets.marks, "marks").await?;
        Ok(Self { leases, sessions, marks, owner: Owner::Nats(state.clone()) })
    }

    /// Ends them: whatever used them has ended.
    pub(super) async fn close(self, timeout: Duration) {
        match self.owner {
            Owner::Nobody => {}
            Owner::File(store) => store.close().await,
            Owner::Nats(state) => {
                state.close(timeout).await;
            }
        }
    }

    /// For a sentence.
    pub(super) fn place(&self) -> &'static str {
        match self.owner {
            Owner::Nobody => "in memory",
            Owner::File(_) => "in a file",
            Owner::Nats(_) => "in buckets of a nats-server",
        }
    }
}

fn unusual(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::new(words(error), "MESH_LOG=debug tells more of what happened")
}
