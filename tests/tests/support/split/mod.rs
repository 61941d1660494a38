//! A private nats-server in the layouts of protocol §4, with the users of a small mesh: `split`, where
//! BUS holds the streams and EDGE everybody else, and `one account`, which the documents describe and
//! which is shown here for what it lets through.

mod bed;
mod mesh;

pub use bed::{Bed, PATIENCE, Started};
pub use mesh::{TAP, composed, layout};

/// Whether streams and everybody else share an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    Split,
    OneAccount,
}

/// How a responder is let answer (protocol §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// Only to an inbox that names it.
    Scoped,
    /// Wherever it is asked to: `allow_responses`.
    AllowResponses,
}

/// What a mesh file chooses of a server's accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    pub isolation: Isolation,
    pub answers: Answers,
}

impl Mode {
    pub const ALL: [Self; 4] = [
        Self { isolation: Isolation::Split, answers: Answers::Scoped },
        Self { isolation: Isolation::Split, answers: Answers::AllowResponses },
        Self { isolation: Isolation::OneAccount, answers: Answers::Scoped },
        Self { isolation: Isolation::OneAccount, answers: Answers::AllowResponses },
    ];
}

/// How the server is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    pub isolation: Isolation,
    pub answers: Answers,
    /// Whether deliveries carry the second form of acknowledgement addresses.
    pub second_form: bool,
    /// Whether JetStream refuses what it does not know.
    pub strict: bool,
    /// One more subject that EDGE imports: what must never be done.
    pub service: Option<&'static str>,
    /// How many connections EDGE may have, and the server four times as many.
    pub connections: u32,
    /// How many subscriptions a connection in EDGE may have, and one anywhere four times as many.
    pub subscriptions: u32,
}

impl Setup {
    pub const fn of(mode: Mode) -> Self {
        Self {
            isolation: mode.isolation,
            answers: mode.answers,
            second_form: false,
            strict: true,
            service: None,
            connections: 1000,
            subscriptions: 10_000,
        }
    }

    /// With answers as they are unless a mesh file says otherwise.
    pub const fn scoped(isolation: Isolation) -> Self {
        Self::of(Mode { isolation, answers: Answers::Scoped })
    }

    pub const fn split() -> Self {
        Self::scoped(Isolation::Split)
    }
}
