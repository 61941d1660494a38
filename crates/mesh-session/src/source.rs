//! Where sessions are dialled, read anew for each of them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mesh_core::credential::{Credential, MAX_DOCUMENT_BYTES};
use mesh_core::identity::Principal;
use mesh_core::port::{ErrorKind, Operation, TransportError};

/// What a transport dials.
pub trait Destination: Clone + Send + Sync + 'static {
    /// Where that credential leads.
    ///
    /// # Errors
    /// `Invalid` for the credential of another kind of broker, or one without a log-in.
    fn of(credential: &Credential) -> Result<Self, TransportError>;

    /// Who connects.
    fn principal(&self) -> &Principal;
}

/// Where to connect, asked anew for each attempt, so that a credential whose file was replaced is the one
/// that is used when the connection is next lost.
pub struct Source<T>(Arc<dyn Fn() -> Result<T, TransportError> + Send + Sync>);

impl<T: Destination> Source<T> {
    /// Reads the credential in the file at `path` each time (protocol §5). One that takes its place must be
    /// the same principal's, and is best moved there whole: half a document is one that can't be read.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::reread(move || {
            let read = || T::of(&Credential::parse(document(&path)?).map_err(unreadable)?);
            read().map_err(|error| error.about(path.to_string_lossy()))
        })
    }

    /// Asks `read` each time. It must be quick, and name the same principal each time.
    pub fn reread(read: impl Fn() -> Result<T, TransportError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// The destination as it is now, if it is still that of `principal`.
    ///
    /// # Errors
    /// As [`read`](Self::read), and `Invalid` where it is another's.
    pub fn read_for(&self, principal: &Principal) -> Result<T, TransportError> {
        let target = self.read()?;
        if target.principal() == principal {
            return Ok(target);
        }
        Err(TransportError::new(ErrorKind::Invalid, Operation::Connect).detail(format!(
            "the credential is now that of {}, not {principal}",
            target.principal()
        )))
    }

    /// The destination as it is now. What reads it is a stranger's code: a panic there is an error like any
    /// other, and no end of reconnecting.
    ///
    /// # Errors
    /// What reading it says; `Invalid` for a panic there.
    pub fn read(&self) -> Result<T, TransportError> {
        catch_unwind(AssertUnwindSafe(|| (self.0)())).unwrap_or_else(|_| {
            Err(TransportError::new(ErrorKind::Invalid, Operation::Connect)
                .detail("reading the credential panicked"))
        })
    }
}

/// The bytes of the credential's document in the file at `path`, and of one that is too long so many
/// that its parser says so.
///
/// # Errors
/// `Invalid`, with the path, where the file can't be read or is none: a pipe would be waited for.
pub fn document(path: &Path) -> Result<Vec<u8>, TransportError> {
    let mut document = Vec::new();
    // One byte more, so that what is too long shows.
    let most = u64::try_from(MAX_DOCUMENT_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let mut reading = || {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        File::open(path)?.take(most).read_to_end(&mut document)
    };
    reading().map_err(|error| unreadable(error).about(path.to_string_lossy()))?;
    Ok(document)
}

/// Always the same.
impl<T: Destination> From<T> for Source<T> {
    fn from(target: T) -> Self {
        Self(Arc::new(move || Ok(target.clone())))
    }
}

impl<T> Clone for Source<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Source<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}

/// For [`Source::reread`]: the error of a credential that can't be read.
pub fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> TransportError {
    TransportError::new(ErrorKind::Invalid, Operation::Connect)
        .detail(format!("the credential can't be read: {error}"))
        .caused_by(error)
}
