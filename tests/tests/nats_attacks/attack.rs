//! What an attack is, and what may come of one.

use std::future::Future;
use std::pin::Pin;

use crate::split::{Bed, Mode, Setup, Started};

/// What came of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// No configuration is composed of what it takes.
    NotComposed,
    /// The server says no, and nothing else happens.
    Refused,
    /// The server takes it, and its streams or their API say no: what is stored stays.
    Kept,
    /// The server takes it, and it arrives nowhere.
    Nowhere,
    /// It arrives, and the runtime does not act on it.
    Ignored,
    /// The victim is hit, says so, and goes on: nothing is lost.
    Survived,
    /// It does what the attacker wants.
    Succeeds,
}

impl Outcome {
    const ALL: [Self; 7] = [
        Self::NotComposed,
        Self::Refused,
        Self::Kept,
        Self::Nowhere,
        Self::Ignored,
        Self::Survived,
        Self::Succeeds,
    ];

    /// As the table says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotComposed => "not composed",
            Self::Refused => "refused by the server",
            Self::Kept => "refused by JetStream",
            Self::Nowhere => "arrives nowhere",
            Self::Ignored => "ignored by the runtime",
            Self::Survived => "survived",
            Self::Succeeds => "**succeeds**",
        }
    }

    /// What the table says so.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

pub type Verdict = Started<Outcome>;
type Run = fn(Mode) -> Pin<Box<dyn Future<Output = Verdict>>>;

/// One attack, carried out by its own user. What must come of it stands in the documentation's table.
#[derive(Clone, Copy)]
pub struct Attack {
    pub name: &'static str,
    /// Who attacks.
    pub by: &'static str,
    /// What it tries.
    pub tries: &'static str,
    /// Whether it may matter how responders are let answer. The others are tried with
    /// `allow_responses` where everything is, and must come to the same.
    pub answers: bool,
    pub run: Run,
}

/// `attack!(function, by "who", "what it tries")`: named like its function. With `answers` at the end it
/// is always tried in both answer modes.
macro_rules! attack {
    (@ $run:path, $name:ident, $by:literal, $tries:literal, $answers:literal) => {
        $crate::attack::Attack {
            name: stringify!($name),
            by: $by,
            tries: $tries,
            answers: $answers,
            run: |mode| Box::pin($run(mode)),
        }
    };
    ($run:ident, by $by:literal, $tries:literal) => {
        attack!(@ $run, $run, $by, $tries, false)
    };
    ($run:ident, by $by:literal, $tries:literal, answers) => {
        attack!(@ $run, $run, $by, $tries, true)
    };
}

pub(crate) use attack;

/// A server in that mode.
pub async fn bed(mode: Mode) -> Started<Bed> {
    Bed::start(Setup::of(mode)).await
}
