//! From a mesh's files to what its broker is told.

pub mod rabbit;
