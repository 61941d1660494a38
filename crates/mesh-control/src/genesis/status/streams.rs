use mesh_core::port::{Administration, Held, StreamState, TransportError};
use mesh_core::topology::{StreamName, Topology};

use super::super::stranger::is_unsupported;
use super::Alarm;

/// The share of a limit, in percent, from which on somebody should look.
const ALARM: u64 = 80;

/// How a stream is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamReport {
    /// Which.
    pub stream: StreamName,
    /// Whether it is there.
    pub is_there: bool,
    /// How it is. Nothing where it is not there, or where the broker can't count it.
    pub state: Option<StreamState>,
    /// How much of the bytes that it may keep it keeps, in percent.
    pub bytes_percent: Option<u64>,
    /// How many of the consumers that it may have it has, in percent.
    pub consumers_percent: Option<u64>,
}

pub(super) async fn look(
    administration: &dyn Administration,
    topology: &Topology,
    missing: &[Held],
) -> Result<Vec<StreamReport>, TransportError> {
    let mut reports = Vec::new();
    for spec in topology.streams() {
        let stream = spec.name;
        let is_there = !missing.contains(&Held::Stream(stream));
        let state = match administration.inspect(stream).await {
            Err(error) if is_unsupported(&error) => None,
            state => state?,
        };
        let bytes = state.and_then(|state| Some((state.bytes?, state.max_bytes?)));
        // Those with one consumer are always full of them.
        let many = state.filter(|_| spec.max_consumers > 1);
        reports.push(StreamReport {
            stream,
            is_there,
            state,
            bytes_percent: bytes.map(|(bytes, most)| percent(bytes, most)),
            consumers_percent: many
                .map(|state| percent(state.consumers, u64::from(spec.max_consumers))),
        });
    }
    Ok(reports)
}

fn percent(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 100 / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

impl StreamReport {
    pub(super) fn alarm(&self) -> Option<Alarm> {
        let Self { stream, .. } = self;
        if !self.is_there {
            return Some(Alarm::new(format!("{stream} is missing"), "run `mesh bus genesis`"));
        }
        if let Some(percent) = self.bytes_percent.filter(|percent| *percent >= ALARM) {
            let what = format!("{stream} is full to {percent} %: full, it refuses who appends");
            let next = match stream {
                StreamName::Events => {
                    "say a greater `max_bytes`, or have fewer events emitted; they go when they are old"
                }
                StreamName::EventsDead => "look at the dead letters, and mend what they are of",
                _ => "see who should read it, and does not",
            };
            return Some(Alarm::new(what, next));
        }
        let percent = self.consumers_percent.filter(|percent| *percent >= ALARM)?;
        let what = format!("{stream} has {percent} % of the consumers that it may have");
        Some(Alarm::new(what, "retire those that nobody needs: `mesh bus genesis` names them"))
    }
}
