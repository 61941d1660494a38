//! The mesh's subjects and channels as data (protocol §2, §7).

mod stream_name;

pub use stream_name::StreamName;

/// What the controller asserts on the broker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {}
