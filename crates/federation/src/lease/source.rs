use mesh_core::mx::{MxPath, Plane, Topic, TopicError};
use mesh_core::name::RealmName;

/// Why nobody can subscribe to something: `MX.SUB.BAD_SOURCE`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadSource {
    /// Neither `sourceTopic` nor `sourcePath` is there.
    #[error("neither `sourceTopic` nor `sourcePath` is a text")]
    Missing,
    /// Both are there, and mean different events.
    #[error("`sourceTopic` and `sourcePath` differ")]
    Differ,
    /// It is no topic.
    #[error("{0}")]
    Topic(#[from] TopicError),
    /// It is a topic, and not one of a component in this realm.
    #[error("not a topic of a component in this realm")]
    Foreign,
    /// It is a command.
    #[error("not an event: its plane is not `emits`")]
    NoEvent,
    /// A part of it begins with `_`: that is closed to other realms.
    #[error("a part that begins with `_` is closed to other realms")]
    Closed,
}

/// Checks that other realms may subscribe to `path` of `realm`: an event, of no component whose name, or
/// the name of whose mount, begins with `_` (protocol §8).
///
/// # Errors
/// [`BadSource`] says why not.
pub fn check_source(realm: &RealmName, path: &MxPath<'_>) -> Result<(), BadSource> {
    if path.plane() != Plane::Emits {
        return Err(BadSource::NoEvent);
    }
    let parts = path.mounts().chain(path.component().split('.')).chain([path.message()]);
    if parts.into_iter().any(|part| part.starts_with('_')) {
        return Err(BadSource::Closed);
    }
    Topic::internal(realm, path)?;
    Ok(())
}

/// The path that `topic` means in `realm`.
pub(super) fn path_of_topic(realm: &RealmName, topic: &str) -> Result<MxPath<'static>, BadSource> {
    match topic.parse()? {
        Topic::Internal(owner, path) if owner == *realm => Ok(path),
        _ => Err(BadSource::Foreign),
    }
}
