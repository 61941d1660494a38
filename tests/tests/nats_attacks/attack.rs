//! What an attack is, and what may come of one.

use std::future::Future;
use std::pin::Pin;

use crate::split::{Bed, Isolation, Setup, Started};

/// What came of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
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
    /// As the table says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused by the server",
            Self::Kept => "refused by JetStream",
            Self::Nowhere => "arrives nowhere",
            Self::Ignored => "ignored by the runtime",
            Self::Survived => "survived",
            Self::Succeeds => "**succeeds**",
        }
    }
}

pub type Verdict = Started<Outcome>;
type Run = fn(Isolation) -> Pin<Box<dyn Future<Output = Verdict>>>;

/// One attack, carried out by its own user in both layouts.
#[derive(Clone, Copy)]
pub struct Attack {
    pub name: &'static str,
    /// Who attacks.
    pub by: &'static str,
    /// What it tries.
    pub tries: &'static str,
    /// What must come of it in each layout.
    pub split: Outcome,
    pub one_account: Outcome,
    pub run: Run,
}

impl Attack {
    pub const fn expected(&self, isolation: Isolation) -> Outcome {
        match isolation {
            Isolation::Split => self.split,
            Isolation::OneAccount => self.one_account,
        }
    }
}

/// `attack!(function, by "who", "what it tries", Split, OneAccount)`: named like its function.
macro_rules! attack {
    ($run:path as $name:ident, by $by:literal, $tries:literal, $split:ident, $one:ident) => {
        $crate::attack::Attack {
            name: stringify!($name),
            by: $by,
            tries: $tries,
            split: $crate::attack::Outcome::$split,
            one_account: $crate::attack::Outcome::$one,
            run: |isolation| Box::pin($run(isolation)),
        }
    };
    ($run:ident, by $by:literal, $tries:literal, $split:ident, $one:ident) => {
        attack!($run as $run, by $by, $tries, $split, $one)
    };
}

pub(crate) use attack;

/// A server in that layout.
pub async fn bed(isolation: Isolation) -> Started<Bed> {
    Bed::start(Setup::of(isolation)).await
}
