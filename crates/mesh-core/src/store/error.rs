use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a store did not do what it was asked: which kind, what a person needs to know, and the cause
/// below it.
#[derive(Clone)]
pub struct StoreError {
    kind: StoreErrorKind,
    detail: Cow<'static, str>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kinds of failure of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// It can't be reached now, it was closed, or it gave no answer in time.
    Unavailable,
    /// There is no room: the disk is full, or a quota is reached.
    Full,
    /// A value is longer than the store takes.
    TooLarge,
    /// What it holds is damaged.
    Corrupt,
    /// Anything else.
    Other,
}

impl StoreError {
    /// An error of this kind. `detail` is never a secret.
    #[must_use]
    pub fn new(kind: StoreErrorKind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, detail: detail.into(), source: None }
    }

    /// Attaches the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether the same call may work a little later.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unavailable | StoreErrorKind::Full)
    }
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unavailable => "unavailable",
            Self::Full => "no room",
            Self::TooLarge => "too large",
            Self::Corrupt => "damaged",
            Self::Other => "failed",
        })
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store: {}", self.kind)?;
        if !self.detail.is_empty() {
            write!(f, " ({})", self.detail)?;
        }
        Ok(())
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreError")
            .field("kind", &self.kind)
            .field("detail", &self.detail)
            .field("source", &self.source)
            .finish()
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
