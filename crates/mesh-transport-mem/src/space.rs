//! Which of a split mesh's accounts a message is in, and what passes between them (protocol §4).

use mesh_core::subject::Subject;
use mesh_core::topology::{Account, Passage};

/// Where a message is sent from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    /// Nothing is kept apart.
    Whole,
    /// The account of the streams and the controller.
    Bus,
    /// The account of everybody else.
    Edge,
    /// The same, by the broker itself in answer to somebody there: what it sends does not pass on into the
    /// other account.
    Relayed,
}

impl Space {
    /// How many there are.
    pub(crate) const COUNT: usize = 4;

    /// Where somebody in `account` sends from.
    pub(crate) fn of(account: Account) -> Self {
        match account {
            Account::Bus => Self::Bus,
            Account::Edge => Self::Edge,
            Account::Whole => Self::Whole,
        }
    }

    /// Where the broker answers what came from here.
    pub(crate) fn answered(self) -> Self {
        match self {
            Self::Edge => Self::Relayed,
            other => other,
        }
    }

    /// Its number, below [`COUNT`](Self::COUNT).
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Whole => 0,
            Self::Bus => 1,
            Self::Edge => 2,
            Self::Relayed => 3,
        }
    }

    /// Whether what is sent to `subject` from here reaches the streams, which are in BUS.
    pub(crate) fn reaches_streams(self, subject: &Subject) -> bool {
        match self {
            Self::Whole | Self::Bus => true,
            Self::Edge => Passage::is_to_bus(subject),
            Self::Relayed => false,
        }
    }

    /// Whether it reaches who is in `account`.
    pub(crate) fn reaches(self, account: Account, subject: &Subject) -> bool {
        match (self, account) {
            (Self::Whole, _) | (_, Account::Whole) => true,
            (Self::Bus, Account::Bus) | (Self::Edge | Self::Relayed, Account::Edge) => true,
            (Self::Bus, Account::Edge) => Passage::is_to_edge(subject),
            (Self::Edge, Account::Bus) => Passage::is_to_bus(subject),
            (Self::Relayed, Account::Bus) => false,
        }
    }
}
