use std::io;
use std::path::PathBuf;

use mesh_core::credential::CredentialError;
use mesh_core::name::UserName;

/// Why a store of secrets can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder is not one that secrets are kept in.
    #[error("{}: {fault}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        fault: FolderFault,
    },
    /// Another process uses it.
    #[error("{}: in use by {holder}", folder.display())]
    Held {
        /// The folder.
        folder: PathBuf,
        /// Who holds it, in its own words: a process's number and what it does.
        holder: String,
    },
    /// A file of the store can't be read or written.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The user's file is not what this store wrote. Nothing is minted in its place.
    #[error("{}: {why}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The user has a secret, and another was not asked for.
    #[error("{user} has a secret already")]
    Exists {
        /// The user.
        user: UserName,
    },
    /// The user's rights were taken back.
    #[error("{user} is revoked")]
    Revoked {
        /// The user.
        user: UserName,
    },
    /// The store knows no such user.
    #[error("{user} has no secret")]
    Unknown {
        /// The user.
        user: UserName,
    },
    /// Nothing could be minted.
    #[error(transparent)]
    Mint(#[from] MintError),
}

/// Why a folder is not one that secrets are kept in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderFault {
    /// It is not there.
    #[error("there is no such folder")]
    Absent,
    /// It is there, and was to be made.
    #[error("it is there already")]
    Exists,
    /// It is a link, or no folder.
    #[error("a link, or no folder")]
    NotAFolder,
    /// Others may look into it, or write there.
    #[error("others may use it (mode {mode:o}, needed is 700)")]
    Open {
        /// Its mode, the lowest twelve bits.
        mode: u32,
    },
    /// It is another user's of the system.
    #[error("it belongs to the system's user {owner}, and this is {user}")]
    Foreign {
        /// Whose it is.
        owner: u32,
        /// Who this process is.
        user: u32,
    },
    /// The system says no.
    #[error("{0}")]
    System(io::Error),
}

/// Why no secret could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MintError {
    /// The system gives no random bits.
    #[error("the system gives no random bits")]
    Randomness,
    /// bcrypt has no such cost.
    #[error("bcrypt's cost is 4 to 31, not {0}")]
    Cost(u32),
}

/// Why a text is no key. Never holds any of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Not `age1…`.
    #[error("not an age recipient (`age1…` of X25519)")]
    Recipient,
    /// A secret key where a recipient is wanted.
    #[error("a secret key; a recipient is the public half, `age1…`")]
    Secret,
    /// No line is an `AGE-SECRET-KEY-1…`.
    #[error("no line is an age secret key (`AGE-SECRET-KEY-1…` of X25519)")]
    Identity,
    /// A line that is neither a secret key nor a comment.
    #[error("line {line} is neither an age secret key of X25519 nor a comment")]
    Line {
        /// From 1.
        line: usize,
    },
    /// Several secret keys, so that it is not clear which one is meant.
    #[error("line {line} is a second secret key; keep one in a file")]
    Several {
        /// From 1.
        line: usize,
    },
}

/// Why something can't be sealed, or opened. Never holds any of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// Nobody to seal it to.
    #[error("nobody to seal it to")]
    Nobody,
    /// The text is none that was sealed: no age file, armored or not, or a damaged one.
    #[error("not an age file, or a damaged one")]
    Unreadable,
    /// Sealed, but not to this key.
    #[error("not sealed to this key")]
    OtherKey,
    /// Longer than a credential's document may be.
    #[error("more than {max} bytes inside")]
    TooLarge {
        /// The most bytes.
        max: usize,
    },
    /// Opened, and what is inside is no text.
    #[error("what is inside is no text")]
    NotText,
    /// Sealing failed.
    #[error("can't seal it: {0}")]
    Failed(io::Error),
}

/// Why a document was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The path names no file, such as `/` or `..`.
    #[error("{}: names no file", path.display())]
    NoName {
        /// The path.
        path: PathBuf,
    },
    /// The path is a link, a folder or the like: it is not followed, and not replaced.
    #[error("{}: a link, or no file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Something else is there, and replacing it was not asked for.
    #[error("{}: something else is there", path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The system says no.
    #[error("{}: {source}", path.display())]
    System {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Why a secret did not reach whom it is for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandOverError {
    /// There is no such credential.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// It can't be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// It can't be written.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The store can't be told.
    #[error(transparent)]
    Store(#[from] StoreError),
}
