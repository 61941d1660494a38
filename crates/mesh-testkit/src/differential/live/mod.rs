//! Live messages and requests of one broker.

mod act;
mod ask;
mod ears;
mod step;
mod world;

use std::collections::BTreeMap;

use async_trait::async_trait;
use mesh_core::port::{Capability, Connection};

use super::drive::{Common, Side};
use super::seen::{Look, Seen};
use crate::suite::{Failure, Scene, Stage};
use ears::Ear;

pub use step::{Answering, LiveStep, Manner};

/// See the module.
pub(super) struct Live {
    scene: Scene,
    common: Common,
    /// By who it is; those that are closed stay.
    connections: Vec<Joined>,
    ears: Vec<Ear>,
    /// What groups heard, each as one, and what those services heard that are gone.
    shared: BTreeMap<String, Vec<String>>,
    opened: u64,
    sent: u64,
}

/// A connection.
struct Joined {
    connection: Connection,
    closed: bool,
}

/// How many connect.
const CONNECTIONS: usize = 3;

#[async_trait]
impl Side for Live {
    type Step = LiveStep;

    async fn open(stage: &Stage<'_>, common: &Common, _: &[LiveStep]) -> Result<Self, Failure> {
        let mut live = Self {
            scene: stage.live().await?,
            common: common.clone(),
            connections: Vec::new(),
            ears: Vec::new(),
            shared: BTreeMap::new(),
            opened: 0,
            sent: 0,
        };
        for index in 0..CONNECTIONS {
            let connection = live.connect(index).await?;
            live.connections.push(Joined { connection, closed: false });
        }
        Ok(live)
    }

    async fn act(&mut self, step: &LiveStep) -> Result<String, Failure> {
        self.step(*step).await
    }

    async fn look(&mut self) -> Result<Look, Failure> {
        let mut seen = Seen::default();
        for ear in &mut self.ears {
            ear.listen(&mut self.shared);
        }
        self.ears.iter().filter(|ear| ear.is_alone()).for_each(|ear| ear.show(&mut seen));
        for (group, heard) in &mut self.shared {
            // Members hear side by side: between them there is no order.
            heard.sort_unstable();
            seen.list(group, heard);
        }
        Ok(Look { seen, waits_for: None })
    }

    async fn end(&mut self) -> Result<String, Failure> {
        let mut reports = Vec::new();
        for index in 0..CONNECTIONS {
            if !self.connections[index].closed {
                self.scene.flush(&self.connections[index].connection).await?;
            }
        }
        for index in 0..CONNECTIONS {
            reports.push(self.close(index).await?);
        }
        Ok(reports.join(", "))
    }
}

impl Live {
    async fn connect(&self, index: usize) -> Result<Connection, Failure> {
        let (principal, may) = world::who(index);
        let may = may.filter(|_| self.common.has(Capability::Permissions));
        self.scene.dial(principal, may).await
    }
}
