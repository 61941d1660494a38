/// Why a question can't be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// As many questions to this realm wait as may.
    #[error("{limit} questions to this realm wait for an answer already")]
    RealmFull {
        /// How many may.
        limit: usize,
    },
    /// As many questions wait as may.
    #[error("{limit} questions wait for an answer already")]
    Full {
        /// How many may.
        limit: usize,
    },
    /// A question of this `correlationId` waits.
    #[error("a question with this correlationId waits already")]
    Taken,
    /// Nobody listens for answers any more.
    #[error("nobody listens for answers any more")]
    Closed,
}

/// Nobody listens for answers any more: what waited has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nobody listens for answers any more")]
#[expect(clippy::exhaustive_structs, reason = "it says all by its name")]
pub struct AnswersClosed;
