use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::name::RealmName;

/// A direct way to other realms, beside the backbone: an endpoint that a realm has published, say
/// (MXDISC/1, protocol §8).
///
/// It is tried first. What it answers decides whether the backbone is used for the same message:
///
/// | answer | the message | then |
/// |---|---|---|
/// | `Ok` | the other realm has taken it | nothing more is sent |
/// | [`NoWay`](DirectErrorKind::NoWay) | was not sent | backbone |
/// | [`NoResponders`](DirectErrorKind::NoResponders), [`Failed`](DirectErrorKind::Failed) | was not taken | backbone, same `msgId` |
/// | [`InDoubt`](DirectErrorKind::InDoubt) | may have been taken | nothing: it is never sent again |
/// | [`TooLarge`](DirectErrorKind::TooLarge) | was not taken, for its size | backbone, which may take more |
///
/// An implementation keeps its own time limit for each try, well below the callers', remembers for a
/// while that an endpoint failed, and answers `NoWay` meanwhile, at once.
#[async_trait]
pub trait Direct: Send + Sync + fmt::Debug {
    /// Sends one encoded envelope to `realm`. Dropped before it returns, the message may have been taken.
    ///
    /// # Errors
    /// [`DirectError`]; its kind says whether the message may have been taken.
    async fn send(&self, realm: &RealmName, envelope: Bytes) -> Result<(), DirectError>;
}

/// Why a message did not go the direct way, or may not have.
#[derive(Debug, Clone)]
pub struct DirectError {
    kind: DirectErrorKind,
    detail: Cow<'static, str>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// What is known of a message that did not go the direct way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "each decides whether the backbone is used")]
pub enum DirectErrorKind {
    /// No endpoint is known, or it is not to be tried now. Nothing was sent.
    NoWay,
    /// The endpoint is there, and nobody takes messages behind it. Not taken.
    NoResponders,
    /// The endpoint can't be reached, or refused it. Not taken.
    Failed,
    /// The endpoint takes no message of this size. Not taken.
    TooLarge,
    /// It was sent, and nothing is known of it: no answer in time, a connection that broke.
    InDoubt,
}

impl DirectError {
    /// An error of this kind.
    #[must_use]
    pub const fn new(kind: DirectErrorKind) -> Self {
        Self { kind, detail: Cow::Borrowed(""), source: None }
    }

    /// Adds what a person needs to know beyond the kind. Never a secret.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Attaches the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// What is known of the message.
    #[must_use]
    pub const fn kind(&self) -> DirectErrorKind {
        self.kind
    }
}

impl DirectErrorKind {
    /// Whether the other realm may have the message, so that it must not be sent again.
    #[must_use]
    pub const fn may_be_taken(self) -> bool {
        matches!(self, Self::InDoubt)
    }
}

impl fmt::Display for DirectErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoWay => "there is no direct way",
            Self::NoResponders => "nobody receives at the endpoint",
            Self::Failed => "the endpoint did not take it",
            Self::TooLarge => "too large for the endpoint",
            Self::InDoubt => "the endpoint did not say whether it took it",
        })
    }
}

impl fmt::Display for DirectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if !self.detail.is_empty() {
            write!(f, " ({})", self.detail)?;
        }
        Ok(())
    }
}

impl Error for DirectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
