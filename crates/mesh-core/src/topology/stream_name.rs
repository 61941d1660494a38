use std::fmt;

/// The streams of the mesh. The controller alone creates them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StreamName {
    /// Reports, enrolments and outcomes of builds: a work queue with one consumer.
    Control,
    /// Declarations: the newest per node.
    Nodes,
    /// Build requests: a work queue with one consumer.
    Builds,
    /// Events: a log with limits, one durable consumer per node and module.
    Events,
    /// Dead letters: a small log.
    EventsDead,
    /// The server's notices of deliveries that were given up.
    Advisories,
}

impl StreamName {
    /// Every stream.
    pub const ALL: [Self; 6] = [
        Self::Control,
        Self::Nodes,
        Self::Builds,
        Self::Events,
        Self::EventsDead,
        Self::Advisories,
    ];

    /// The name on the broker.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Control => "CONTROL",
            Self::Nodes => "NODES",
            Self::Builds => "BUILDS",
            Self::Events => "EVENTS",
            Self::EventsDead => "EVENTS_DEAD",
            Self::Advisories => "ADVISORIES",
        }
    }

    /// The stream of that name on the broker.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stream| stream.as_str() == name)
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
