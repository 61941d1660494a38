//! The cases, one file a method. Each is named after the bullet that it proves.

mod bounds;
mod read;
mod remove;
mod watch;
mod write;

use super::StateCase;

pub(super) const GROUPS: &[&[StateCase]] =
    &[read::CASES, write::CASES, bounds::CASES, remove::CASES, watch::CASES];
