//! Who has a seat of the mesh, kept on its nats-server.

use std::time::Duration;

use mesh_core::name::SeatName;
use mesh_core::port::{CloseReport, Operation, TransportError};
use mesh_core::store::{StoreError, StoreErrorKind};
use mesh_core::topology::SeatAddress;
use serde::Deserialize;
use serde_json::json;

use crate::NatsOptions;
use crate::api_error::ApiError;
use crate::connect::Source;
use crate::link::deadline;
use crate::state::settings::{call, read};
use crate::state::{NatsState, failure};

/// The longest description that a server keeps of a stream, in bytes.
const LONGEST: usize = 4096;

/// Seats of the mesh on its nats-server, for the controller: nobody else has the server's API. What is kept of one
/// is a text, which says who has it.
///
/// ```no_run
/// # async fn adopt() -> Result<(), Box<dyn std::error::Error>> {
/// use mesh_core::name::SeatName;
/// use mesh_transport_nats::{NatsOptions, NatsSeats, Source, Taken};
///
/// let controller = Source::file("/etc/mesh/controller.json");
/// let seats = NatsSeats::connect(controller, NatsOptions::default()).await?;
/// match seats.take(&SeatName::broker(), "nats on n1").await? {
///     Taken::Now => println!("taken"),
///     Taken::Before(by) => println!("it is {by}'s"),
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct NatsSeats {
    state: NatsState,
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "taken now or before")]
pub enum Taken {
    /// The seat is whose claim this was.
    Now,
    /// Somebody has it already: what was kept of that. It stays.
    Before(String),
}

#[derive(Deserialize)]
struct Info {
    config: Config,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    description: String,
}

impl NatsSeats {
    /// Connects, once.
    ///
    /// # Errors
    /// As [`connect`](crate::connect).
    pub async fn connect(
        source: impl Into<Source>,
        options: NatsOptions,
    ) -> Result<Self, TransportError> {
        Ok(Self { state: NatsState::connect(source, options).await? })
    }

    /// Takes a seat, with a text that says who has it and when it was taken: two claims are the same only if
    /// their texts are. Of two who take it at once, one has it.
    ///
    /// # Errors
    /// [`StoreError`]: `TooLarge` for more than 4096 bytes; `Unavailable`, where it may have been taken all the
    /// same, which [`holder`](Self::holder) tells.
    pub async fn take(&self, seat: &SeatName, text: &str) -> Result<Taken, StoreError> {
        if text.len() > LONGEST {
            let told = format!("a claim of {} bytes, at most {LONGEST} are kept", text.len());
            return Err(StoreError::new(StoreErrorKind::TooLarge, told));
        }
        let address = SeatAddress::of(seat.clone());
        // It holds nothing, now and later.
        let config = json!({
            "name": address.stream(),
            "description": text,
            "subjects": [address.subject().as_str()],
            "retention": "limits",
            "discard": "new",
            "storage": "file",
            "num_replicas": 1,
            "max_msgs": 1,
            "max_bytes": 1024,
            "max_msg_size": 1,
            "max_consumers": 1,
            "deny_delete": true,
            "deny_purge": true,
        });
        let subject = address.create();
        let due = deadline(NatsState::TIMEOUT);
        let body = config.to_string().into_bytes();
        let answer = call(&self.state, Operation::Assert, subject.as_str(), body, due).await?;
        let answer = read::<Info>(&answer)
            .map_err(|error| failure::unclear(Operation::Assert, subject.as_str(), error))?;
        match answer {
            Ok(info) if info.config.description == text => Ok(Taken::Now),
            Ok(info) => Ok(Taken::Before(info.config.description)),
            Err(ApiError { err_code: ApiError::STREAM_EXISTS, .. }) => {
                let there = self.holder(seat).await?;
                Ok(Taken::Before(there.unwrap_or_default()))
            }
            Err(refused) => Err(failure::refused(Operation::Assert, subject.as_str(), &refused)),
        }
    }

    /// What is kept of who has a seat; nothing, where nobody has it.
    ///
    /// # Errors
    /// [`StoreError`] when the server can't be asked.
    pub async fn holder(&self, seat: &SeatName) -> Result<Option<String>, StoreError> {
        let subject = SeatAddress::of(seat.clone()).inspect();
        let due = deadline(NatsState::TIMEOUT);
        let operation = Operation::Inspect;
        let answer = call(&self.state, operation, subject.as_str(), Vec::new(), due).await?;
        let answer = read::<Info>(&answer)
            .map_err(|error| failure::unclear(operation, subject.as_str(), error))?;
        match answer {
            Ok(info) => Ok(Some(info.config.description)),
            Err(ApiError { err_code: ApiError::STREAM_NOT_FOUND, .. }) => Ok(None),
            Err(refused) => Err(failure::refused(operation, subject.as_str(), &refused)),
        }
    }

    /// Ends the connection.
    pub async fn close(&self, timeout: Duration) -> CloseReport {
        self.state.close(timeout).await
    }
}
