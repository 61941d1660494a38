use super::VerifierError;

/// Why a server's file could not be composed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// Users without a verifier, by name: their secrets were not minted, or are revoked.
    #[error("no secret was minted for {}", .0.join(", "))]
    NoVerifier(Vec<String>),
    /// What would verify this user does not.
    #[error("the verifier of {user}: {why}")]
    Verifier {
        /// The user.
        user: String,
        /// What is wrong with it.
        why: VerifierError,
    },
    /// A text that the server can't be told.
    #[error("{field}: {why}")]
    Value {
        /// Where it would stand.
        field: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The same user in two places: a server refuses that.
    #[error("two users are called {0}")]
    UserTwice(String),
    /// A file that a server would take, and that would let somebody in who should not, or nobody.
    #[error("refused although a server would take it: {0}")]
    Dangerous(#[from] super::Danger),
}
