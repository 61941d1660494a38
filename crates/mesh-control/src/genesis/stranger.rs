//! What a broker holds and no file names, and how it is taken away when that is asked for by name.

use mesh_core::port::{Administration, ConsumerState, ErrorKind, Held, TransportError};
use mesh_core::topology::{ConsumerRef, Topology};

/// Something that the mesh's files don't name: it is told and left.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stranger {
    /// What it is.
    pub held: Held,
    /// How it is, of a consumer.
    pub state: Option<ConsumerState>,
    /// Whether the files do name its module, whose manifest was refused: it is no stranger then, but what it
    /// should be is not known.
    pub is_of_refused: bool,
}

impl Stranger {
    pub(super) async fn look(
        administration: &dyn Administration,
        held: Held,
        is_of_refused: bool,
    ) -> Result<Self, TransportError> {
        let state = match &held {
            Held::Consumer(consumer) => administration.inspect_consumer(consumer).await?,
            Held::Stream(_) | Held::Other(_) => None,
        };
        Ok(Self { held, state, is_of_refused })
    }
}

/// What to do with a consumer that still owes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it is one or the other")]
pub enum Owed {
    /// Keep it.
    Keep,
    /// Give up what it owes.
    GiveUp,
}

/// Why a consumer was not retired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetireError {
    /// The mesh's files name it: it would be made again, and begin anew.
    #[error("the mesh's files name {0}")]
    Named(ConsumerRef),
    /// It is not there.
    #[error("there is no consumer {0}")]
    Absent(ConsumerRef),
    /// It has yet to settle something.
    #[error("{consumer} owes {owed}")]
    Owes {
        /// Which.
        consumer: ConsumerRef,
        /// How many messages.
        owed: u64,
    },
    /// The broker does not say what it holds unsettled, so nobody knows that it owes nothing.
    #[error("how much of {0} is unsettled can't be seen on this broker")]
    Unknown(ConsumerRef),
    /// Somebody reads it.
    #[error("somebody reads {0}")]
    Read(ConsumerRef),
    /// The broker refused, or could not be asked.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Takes a consumer away that `topology` does not name, and tells what it owed. Whatever is appended while
/// this looks is not seen.
///
/// # Errors
/// [`RetireError`]: unless `owed` says otherwise, also where it owes something, where somebody reads it, and
/// where the broker can't tell.
pub async fn retire(
    administration: &dyn Administration,
    topology: &Topology,
    consumer: &ConsumerRef,
    owed: Owed,
) -> Result<u64, RetireError> {
    if topology.consumer(consumer).is_some() {
        return Err(RetireError::Named(consumer.clone()));
    }
    let state = administration.inspect_consumer(consumer).await?;
    let state = state.ok_or_else(|| RetireError::Absent(consumer.clone()))?;
    if owed == Owed::Keep {
        if state.owed() > 0 {
            return Err(RetireError::Owes { consumer: consumer.clone(), owed: state.owed() });
        }
        if state.in_flight.is_none() {
            return Err(RetireError::Unknown(consumer.clone()));
        }
        if state.is_read == Some(true) {
            return Err(RetireError::Read(consumer.clone()));
        }
    }
    match administration.retire(consumer).await? {
        true => Ok(state.owed()),
        false => Err(RetireError::Absent(consumer.clone())),
    }
}

/// Whether the broker only can't do this.
pub(super) fn is_unsupported(error: &TransportError) -> bool {
    error.kind() == ErrorKind::Unsupported
}
