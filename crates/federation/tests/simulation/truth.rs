//! What really was written, asked and leased: kept apart from what the realms believe.

use std::collections::{BTreeMap, HashMap};

use mesh_core::mx::MailboxKind;
use mesh_core::name::RealmName;
use mesh_federation::lease::LeaseId;

use crate::letters::Token;

#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(super) letters: Vec<Letter>,
    /// How often each question has ended.
    pub(super) questions: BTreeMap<u64, u32>,
    /// In which life of its gateway a realm handled a letter last.
    pub(super) handled: HashMap<(RealmName, Token), u32>,
    /// Answers that a gateway owes, by its realm and life, the asker, its mailbox, and the `correlationId`.
    pub(super) owed: HashMap<(RealmName, u32, RealmName, MailboxKind, String), u32>,
    /// Leases that were given and have not been told to have ended.
    pub(super) leases: BTreeMap<(RealmName, LeaseId), Given>,
    /// Handled once more, since the gateway had forgotten in a crash.
    pub(crate) handled_after_crash: u64,
    pub(crate) broken: Vec<String>,
}

/// A letter that was written.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    /// Whom it says that it is from.
    pub(crate) from: RealmName,
    /// Whom it is for.
    pub(crate) to: RealmName,
    /// Why no component may see it, if so.
    pub(crate) never: Option<&'static str>,
}

/// A lease that was given.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    pub(super) sink: RealmName,
    pub(super) ends: u64,
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With the body of this number.
    Answered(Option<Token>),
    /// With this code.
    Refused(String),
    /// The caller waited no longer.
    TimedOut,
    /// Its own gateway crashed.
    Closed,
}

impl Ending {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Answered(_) => "answered",
            Self::Refused(_) => "refused to the caller",
            Self::TimedOut => "given up",
            Self::Closed => "ended by a crash",
        }
    }
}

impl Truth {
    pub(crate) fn broken(&mut self, what: String) {
        self.broken.push(what);
    }

    pub(super) fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.broken(what());
        }
    }

    /// Notes a letter, and gives it its number.
    pub(crate) fn written(&mut self, from: &RealmName, to: &RealmName) -> Token {
        self.letters.push(Letter { from: from.clone(), to: to.clone(), never: None });
        Token::try_from(self.letters.len() - 1).expect("few letters")
    }

    /// Nobody may see the letter, for this reason.
    pub(crate) fn never(&mut self, token: Token, why: &'static str) {
        if let Some(letter) = self.letters.get_mut(usize::try_from(token).unwrap_or(usize::MAX)) {
            letter.never = Some(why);
        }
    }

    pub(super) fn letter(&self, token: Token) -> Option<&Letter> {
        self.letters.get(usize::try_from(token).ok()?)
    }

    /// The letter is a question, which has to end.
    pub(crate) fn asked(&mut self, token: Token) {
        self.questions.insert(token, 0);
    }

    /// Whether the letter is for this realm.
    pub(crate) fn is_to(&self, token: Token, realm: &RealmName) -> bool {
        self.letter(token).is_some_and(|letter| letter.to == *realm)
    }
}
