use std::fmt;

/// Why a router does not pass a message on. Each is counted; nobody is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// It is no MXENV/1, or one that is refused: also one whose `ttl` is no whole number.
    Malformed,
    /// Its `ttl` is higher than any journey in a tree needs.
    TtlTooBig,
    /// It may not be passed on any more.
    TtlSpent,
    /// Its realm would be below this one, and there is no such child.
    NoChild,
    /// Its realm is not below this one, and there is no parent to ask.
    NoParent,
    /// It neither comes from nor goes to where this router stands or what is below it.
    Transit,
    /// Too much waits for the next router, or for all of them together.
    Busy,
    /// The backbone says that nobody listens at the next inbox.
    Absent,
    /// The backbone did not take it.
    Failed,
}

impl DropReason {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Malformed,
        Self::TtlTooBig,
        Self::TtlSpent,
        Self::NoChild,
        Self::NoParent,
        Self::Transit,
        Self::Busy,
        Self::Absent,
        Self::Failed,
    ];

    /// For programs: the value of the metrics' `reason`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::TtlTooBig => "ttl_too_big",
            Self::TtlSpent => "ttl_spent",
            Self::NoChild => "no_child",
            Self::NoParent => "no_parent",
            Self::Transit => "transit",
            Self::Busy => "busy",
            Self::Absent => "absent",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Malformed => "not an MXENV/1",
            Self::TtlTooBig => "more hops allowed than any journey needs",
            Self::TtlSpent => "no hop left",
            Self::NoChild => "no such realm below this one",
            Self::NoParent => "not below this realm, which has no parent",
            Self::Transit => "neither from nor to a realm below this one",
            Self::Busy => "too much waits already",
            Self::Absent => "nobody listens at the next inbox",
            Self::Failed => "the backbone did not take it",
        })
    }
}
