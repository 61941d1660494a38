//! Questions that this realm has asked others, and the answers that find them (protocol §8).
//!
//! Whoever asks registers its question before it is sent, and waits. Whoever reads this realm's
//! mailboxes hands each answer over, and is told whether somebody waited for it.
//!
//! ```
//! use mesh_core::json::RawJson;
//! use mesh_core::mx::{Answer, Profile};
//! use mesh_core::name::RealmName;
//! use mesh_federation::{AnswerLimits, Answers, Settled};
//! # use mesh_core::mx::{DEFAULT_MAX_BYTES, decode};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let answers = Answers::new(AnswerLimits::default());
//! let shop = RealmName::new("shop")?;
//! let waiting = answers.register(&shop, "c-1", Profile::Legacy)?;
//!
//! // In the mailbox:
//! let bytes = br#"{"correlationId":"c-1","ok":true,"fromRealm":"shop","body":[1]}"#;
//! let answer = decode(bytes, DEFAULT_MAX_BYTES)?.as_answer().expect("an answer");
//! assert_eq!(answers.settle(&answer), Settled::Matched);
//!
//! assert_eq!(waiting.await?, Ok(RawJson::new("[1]")?));
//! assert_eq!(answers.counts().pending, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod sinks;
mod table;
mod waiting;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use mesh_core::json::RawJson;
use mesh_core::mx::{Answer, Fault, Profile};
use mesh_core::name::RealmName;

pub use error::{AnswersClosed, RegisterError};
pub(crate) use sinks::Sink;
use sinks::Sinks;
use table::Table;
use tokio::sync::watch;
pub use waiting::Waiting;

/// What a question was answered: the body, or why there is none. Both are what the other realm says.
pub type Reply = Result<RawJson<'static>, Fault<'static>>;

/// A bounded table of questions that wait for an answer from another realm. Clones are the same table.
///
/// A question is known by its `correlationId`, which is fresh and random, and by the realm that was
/// asked. An answer that says another realm finds nothing, and the question goes on waiting. A legacy
/// reply need not say where it comes from: one that doesn't finds its question by the `correlationId`
/// alone, but only a question that was asked in the legacy profile. Nobody but the realm that was asked
/// has been told that id, so it proves as much as a `fromRealm`, which is a claim as well. An answer may
/// come in the other profile than its question.
///
/// Nothing is left behind: a [`Waiting`] that is dropped takes its question with it.
#[derive(Clone)]
pub struct Answers(Arc<Table>);

/// How many questions may wait at a time. One more is refused, to who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct AnswerLimits {
    /// Those to one realm; 4,096 unless told. A realm that never answers uses up no more.
    pub per_realm: usize,
    /// Those to all; 65,536 unless told.
    pub total: usize,
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "who reads a mailbox heeds each")]
pub enum Settled {
    /// Who asked has it.
    Matched,
    /// No such question waits here: it was given up, is answered already, or is another's.
    Unknown,
    /// Such a question waits, but another realm was asked. It goes on waiting.
    Foreign,
}

/// What the table holds, and what became of questions and answers since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerCounts {
    /// Questions that wait now.
    pub pending: usize,
    /// Questions that were answered.
    pub matched: u64,
    /// Questions whose asker gave up before there was an answer.
    pub given_up: u64,
    /// Questions that were refused, since too many waited.
    pub refused: u64,
    /// Answers that came when nobody waited for them: late, repeated, or another's.
    pub unknown: u64,
    /// Answers that named another realm than was asked, or none where they should.
    pub foreign: u64,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self { per_realm: 4096, total: 65_536 }
    }
}

impl Answers {
    /// An empty table.
    #[must_use]
    pub fn new(limits: AnswerLimits) -> Self {
        Self(Arc::new(Table::new(limits)))
    }

    /// Notes that `realm` is about to be asked in `profile`, under a fresh `correlation_id`. To be
    /// called before the question is sent.
    ///
    /// # Errors
    /// [`RegisterError`]: too many wait, the id is taken, or the table is closed. Nothing is noted then.
    pub fn register(
        &self,
        realm: &RealmName,
        correlation_id: &str,
        profile: Profile,
    ) -> Result<Waiting, RegisterError> {
        let id: Arc<str> = correlation_id.into();
        let (number, answer) = self.0.insert(realm, &id, profile)?;
        Ok(Waiting::new(Arc::clone(&self.0), id, number, answer))
    }

    /// Gives `answer` to who waits for it. The first counts; whatever comes after it is `Unknown`.
    pub fn settle(&self, answer: &Answer<'_>) -> Settled {
        self.0.settle(answer)
    }

    /// Whether a question of this id waits for an answer that says it is of `realm`.
    pub(crate) fn awaits(&self, realm: Option<&str>, correlation_id: &str) -> bool {
        self.0.awaits(realm, correlation_id)
    }

    /// Which paths of this realm a watch of another realm's events listens to.
    pub(crate) fn sinks(&self) -> &Sinks {
        &self.0.sinks
    }

    /// Refuses questions from now on, and tells those who wait that there will be no answer.
    pub fn close(&self) {
        self.0.close();
    }

    /// What came to a mailbox of the realm was missed, or may have been: events as well as answers.
    pub(crate) fn missed(&self) {
        self.0.gaps.send_modify(|gaps| *gaps = gaps.wrapping_add(1));
    }

    /// Changes whenever something was missed.
    pub(crate) fn gaps(&self) -> watch::Receiver<u64> {
        self.0.gaps.subscribe()
    }

    /// What it holds and has seen.
    #[must_use]
    pub fn counts(&self) -> AnswerCounts {
        self.0.counts()
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Answers").field(&self.counts()).finish()
    }
}
