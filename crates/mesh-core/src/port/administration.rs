use std::fmt;

use async_trait::async_trait;

use super::TransportError;
use crate::message::Message;
use crate::subject::Subject;
use crate::time::Timestamp;
use crate::topology::{ConsumerRef, StreamName, Topology};

/// The controller's side of a broker. Nobody else has it. Where rights are enforced, each call takes
/// the right to the server's API ([`api_filter`](crate::topology::api_filter)), and is `Denied` without.
#[async_trait]
pub trait Administration: Send + Sync + fmt::Debug {
    /// Makes the broker hold the streams and consumers of `topology`. Idempotent; never deletes.
    ///
    /// - `assert_creates_what_is_missing`.
    /// - `assert_twice_changes_nothing`: the second time there is no drift, and what is stored and
    ///   where consumers stand is as before.
    /// - `assert_reports_drift`: with `DriftMode::Report` a difference is named by object, field,
    ///   expected and found, and left.
    /// - `assert_mends_drift`: with `DriftMode::Mend` it is updated in place, and nothing is lost.
    ///   \[`Mending`, else it is named as not mended, and left]
    /// - `assert_leaves_strangers_alone`: a consumer that `topology` does not name stays.
    async fn assert(
        &self,
        topology: &Topology,
        mode: DriftMode,
    ) -> Result<Vec<Drift>, TransportError>;

    /// Puts right in place exactly those differences that were `chosen` from what
    /// [`assert`](Self::assert) told, and creates nothing. Answers every difference that there was, as
    /// `assert` does: who asked before, judges, and mends what is harmless
    /// ([decision 0091](https://github.com/mesh-rs/mesh/blob/main/docs/decisions/0091-what-genesis-mends.md)).
    ///
    /// - `mend_puts_right_what_is_chosen`: others in the same object and elsewhere are named and left.
    ///   \[`Mending`, else all are named as not mended, and left]
    /// - `mend_leaves_what_is_otherwise_by_now`: what was found is another by now than when it was chosen,
    ///   so nobody has judged it. \[`Mending`]
    async fn mend(
        &self,
        topology: &Topology,
        chosen: &[Drift],
    ) -> Result<Vec<Drift>, TransportError>;

    /// The streams and consumers that there are, whoever made them.
    ///
    /// - `list_names_what_is_held`: also what no topology names. \[`Mending`, else `Unsupported`: a broker
    ///   that nothing can be changed in is asked for each object by its name]
    async fn list(&self) -> Result<Vec<Held>, TransportError>;

    /// Reads one stored message without consuming it.
    ///
    /// - `read_finds_a_sequence`: the message as it was appended. \[`Sequences`, else `Unsupported`]
    /// - `read_finds_the_last_of_a_subject`. \[`Sequences`]
    /// - `read_of_nothing_is_none`: a sequence not yet there, or gone. \[`Sequences`]
    async fn read(
        &self,
        stream: StreamName,
        position: Position,
    ) -> Result<Option<Stored>, TransportError>;

    /// How a stream is; `None` if it is not there.
    ///
    /// - `inspect_tells_how_old_a_stream_is`: when it was created and which number is the oldest, which an
    ///   assertion does not change. \[`Sequences`]
    /// - `inspect_counts_what_is_stored`: a work queue on every broker; a log where it is numbered, and
    ///   else it is `Unsupported`, since what nobody numbers is kept by its consumers, each for itself.
    async fn inspect(&self, stream: StreamName) -> Result<Option<StreamState>, TransportError>;

    /// How a consumer is; `None` if it is not there.
    ///
    /// - `inspect_counts_what_a_consumer_owes`: what waits and what is unsettled, together all that
    ///   it has yet to settle. Where the broker does not say what is unsettled, what waits.
    /// - `inspect_tells_whether_a_consumer_is_read`: where the broker says.
    async fn inspect_consumer(
        &self,
        consumer: &ConsumerRef,
    ) -> Result<Option<ConsumerState>, TransportError>;

    /// Removes the consumer of a module that left; answers whether it was there.
    ///
    /// - `retire_removes_a_consumer`: others keep theirs.
    /// - `retire_of_an_absent_consumer_is_false`.
    async fn retire(&self, consumer: &ConsumerRef) -> Result<bool, TransportError>;
}

/// What to do about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "adapters must handle each")]
pub enum DriftMode {
    /// Name it and leave it.
    Report,
    /// Name it and put it right where the broker can do so in place.
    Mend,
}

/// A difference between what should be and what is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "adapters build it")]
pub struct Drift {
    /// The stream or consumer: `EVENTS`, `EVENTS/n1_mail`.
    pub object: String,
    /// Which of its settings.
    pub field: &'static str,
    /// What should be.
    pub expected: String,
    /// What is.
    pub found: String,
    /// Whether it was put right.
    pub mended: bool,
}

impl Drift {
    /// Whether this is the same difference: of what, in which setting, and between what.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let Self { object, field, expected, found, mended: _ } = self;
        (object, field, expected, found)
            == (&other.object, &other.field, &other.expected, &other.found)
    }
}

/// Something that a broker holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "adapters build it, and what holds nothing else is told"
)]
pub enum Held {
    /// A stream of the mesh.
    Stream(StreamName),
    /// A consumer of one, named as a mesh names them.
    Consumer(ConsumerRef),
    /// Anything else: a stream that is none of the mesh's, or a consumer that a mesh could not name. As
    /// objects are named: `ORDERS`, `EVENTS/My consumer`. A stranger may have chosen it: show it with care.
    Other(String),
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(stream) => stream.fmt(f),
            Self::Consumer(consumer) => consumer.fmt(f),
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// Which stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "adapters must handle each")]
pub enum Position {
    /// The one of this number.
    Sequence(u64),
    /// The last of this subject.
    LastOf(Subject),
}

/// A message as a stream keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "adapters build it")]
pub struct Stored {
    /// Its number in the stream.
    pub sequence: u64,
    /// When it was stored.
    pub time: Timestamp,
    /// The message.
    pub message: Message,
}

/// How a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "adapters build it")]
pub struct StreamState {
    /// How many messages it keeps.
    pub messages: u64,
    /// Their bytes, where the broker counts them.
    pub bytes: Option<u64>,
    /// The most bytes it keeps, as the broker has it; nothing where it has no limit, or does not say.
    pub max_bytes: Option<u64>,
    /// The number of the oldest message kept, where messages are numbered; one more than the last where it
    /// keeps none.
    pub first_sequence: Option<u64>,
    /// The last number given, where messages are numbered.
    pub last_sequence: Option<u64>,
    /// How many consumers it has.
    pub consumers: u64,
    /// When it was created, by the broker's clock, where that is known. Of `NODES` it is the mesh's epoch
    /// (protocol §2).
    pub created: Option<Timestamp>,
}

/// How a consumer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "adapters build it")]
pub struct ConsumerState {
    /// Messages it has not been given yet.
    pub pending: u64,
    /// Deliveries that are not settled, where the broker says how many.
    pub in_flight: Option<u64>,
    /// Those of them that were delivered more than once, where the broker says how many.
    pub redelivered: Option<u64>,
    /// Whether somebody reads it now, where the broker says: is given what comes, and not only there. Nobody reads
    /// one that is paused.
    pub is_read: Option<bool>,
}

impl ConsumerState {
    /// All that it has yet to settle, as far as the broker says.
    #[must_use]
    pub const fn owed(&self) -> u64 {
        match self.in_flight {
            Some(in_flight) => self.pending + in_flight,
            None => self.pending,
        }
    }
}
