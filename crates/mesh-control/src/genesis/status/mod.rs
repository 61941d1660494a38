//! How a bus is, as far as its broker says.

mod consumers;
mod letters;
mod streams;

use mesh_core::port::Connection;
use mesh_core::time::Timestamp;
use mesh_core::topology::Topology;

pub use consumers::ConsumerReport;
pub use letters::{DeadLetters, Letters};
pub use streams::StreamReport;

use super::judge::{Judged, Verdict};
use super::raise::Genesis;
use super::raised::{Mode, Raised, Stopped};
use super::stranger::Stranger;

/// How a bus is. Everything is as the broker said it while it was asked, one thing after the other.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Status {
    /// What the broker says that it is, where its client tells: a claim.
    pub broker: Option<String>,
    /// The streams, in the order of the topology.
    pub streams: Vec<StreamReport>,
    /// The consumers, in the order of the topology.
    pub consumers: Vec<ConsumerReport>,
    /// The dead letters.
    pub dead_letters: DeadLetters,
    /// What differs from what is asked for; nothing is put right.
    pub drift: Vec<Judged>,
    /// What nobody asked for.
    pub strangers: Vec<Stranger>,
    /// When NODES was created, in the broker's milliseconds (protocol §2).
    pub epoch: Option<Timestamp>,
    /// What can't be seen on this broker.
    pub unseen: Vec<&'static str>,
    /// What needs somebody: none, if the bus is well.
    pub alarms: Vec<Alarm>,
}

/// Something that needs somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "it is a pair; whoever looks at more than the bus adds to them"
)]
pub struct Alarm {
    /// What is wrong.
    pub what: String,
    /// What to do next.
    pub next: String,
}

/// Why nothing can be told.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", .0.doing, .0.error)]
pub struct StatusError(pub Stopped);

impl Alarm {
    /// What is wrong, and what to do next.
    #[must_use]
    pub fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into() }
    }
}

impl Status {
    /// Looks, as the controller, and changes nothing. Dead letters that were given up before `known` need
    /// nobody any more.
    ///
    /// # Errors
    /// [`StatusError`], if the broker can't be asked.
    pub async fn look(
        genesis: &Genesis<'_>,
        connection: &Connection,
        known: Option<Timestamp>,
    ) -> Result<Self, StatusError> {
        let raised = genesis.run(connection, Mode::Look).await;
        let Raised { missing, drift, strangers, epoch, unseen, stopped, .. } = raised;
        if let Some(stopped) = stopped {
            return Err(StatusError(stopped));
        }
        let looking = |error| StatusError(Stopped { doing: "looking at what there is", error });
        let administration = connection.administration().map_err(looking)?;
        let topology: &Topology = genesis.topology();
        let streams =
            streams::look(&**administration, topology, &missing).await.map_err(looking)?;
        let consumers =
            consumers::look(&**administration, topology, &missing).await.map_err(looking)?;
        let dead_letters = letters::look(&**administration, known).await.map_err(looking)?;
        let mut alarms = Vec::new();
        alarms.extend(streams.iter().filter_map(StreamReport::alarm));
        alarms.extend(consumers.iter().filter_map(ConsumerReport::alarm));
        alarms.extend(dead_letters.alarm());
        alarms.extend(drift.iter().filter_map(of_drift));
        Ok(Self {
            broker: connection.broker().map(str::to_owned),
            streams,
            consumers,
            dead_letters,
            drift,
            strangers,
            epoch,
            unseen,
            alarms,
        })
    }
}

fn of_drift(judged: &Judged) -> Option<Alarm> {
    let drift = &judged.drift;
    let (object, field) = (&drift.object, drift.field);
    let what = format!("{object}: {field} is {}, and should be {}", drift.found, drift.expected);
    let next = match &judged.verdict {
        Verdict::Mended => return None,
        Verdict::Mendable => "run `mesh bus genesis --mend`".to_owned(),
        Verdict::Refused { then, .. } | Verdict::Stuck { then, .. } => then.clone(),
    };
    Some(Alarm { what, next })
}
