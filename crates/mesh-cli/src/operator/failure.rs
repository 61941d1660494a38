//! What to do about each way in which secrets go wrong.

use mesh_control::secrets::{DocumentError, FolderFault, HandOverError, SealError, StoreError};

use crate::shell::Failure;

/// Of a store.
pub(crate) fn store_failure(error: &StoreError) -> Failure {
    let (what, place, hint) = match error {
        StoreError::Folder { folder, fault } => {
            let hint = match fault {
                FolderFault::Absent => {
                    "see that the path is right; for a new store make the folder: `mkdir -m 700` and its name"
                }
                FolderFault::Exists => "open it, or name another",
                FolderFault::NotAFolder => "name the folder itself",
                FolderFault::Open { .. } => {
                    "`chmod 700` closes it; who could look into it until now?"
                }
                FolderFault::Foreign { .. } => "run this as the user that the store belongs to",
                _ => "let this user read and write there",
            };
            (fault.to_string(), folder, hint)
        }
        StoreError::Held { folder, holder } => {
            (format!("in use by {holder}"), folder, "wait until it is done, and try again")
        }
        StoreError::File { file, source } => (
            source.to_string(),
            file,
            "see that there is room, and that this user may read and write there",
        ),
        StoreError::Damaged { file, why } => (
            why.clone(),
            file,
            "bring it back from a copy; or move it away, and issue again: what it stood for counts no more then",
        ),
        other => {
            return Failure::new(other.to_string(), "`mesh operator list` says who has what");
        }
    };
    Failure::new(what, hint).at(place.display())
}

/// Of a file for who gets a credential.
pub(crate) fn document_failure(error: &DocumentError) -> Failure {
    let (what, path, hint) = match error {
        DocumentError::NoName { path } => ("names no file".to_owned(), path, "name a file"),
        DocumentError::NotAFile { path } => {
            ("a link, or no file".to_owned(), path, "name the file itself: a link is not followed")
        }
        DocumentError::Exists { path } => (
            "something else is there, and is left alone".to_owned(),
            path,
            "name a file that isn't there; what is replaced can't be had back",
        ),
        DocumentError::System { path, source } => (
            format!("can't write it: {source}"),
            path,
            "name a file in a folder that this user may write to",
        ),
        other => return Failure::new(other.to_string(), "name another file"),
    };
    Failure::new(what, hint).at(path.display())
}

/// Of sealing and opening.
pub(crate) fn seal_failure(error: &SealError) -> Failure {
    let hint = match error {
        SealError::OtherKey => "name the file of the key whose public half it was sealed to",
        SealError::Unreadable => "see that it is the whole of what was sent, from BEGIN to END",
        _ => "ask whoever issued it for another",
    };
    Failure::new(error.to_string(), hint)
}

/// Of all of these together.
pub(crate) fn hand_over_failure(error: &HandOverError) -> Failure {
    match error {
        HandOverError::Store(error) => store_failure(error),
        HandOverError::Document(error) => document_failure(error),
        HandOverError::Seal(error) => seal_failure(error),
        other => Failure::new(other.to_string(), "the bus must be reached by tls:// or nats://"),
    }
}
