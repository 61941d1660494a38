use std::fmt;

use super::{Ours, Survey};

/// Something of other people's that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Touched {
    /// Another server, or one that was started again.
    Restarted {
        /// When the one before started.
        before: String,
        /// When this one did.
        after: String,
    },
    /// An account that is gone.
    Account(String),
    /// A stream that is gone or was made anew.
    Stream(String),
    /// A stream that is configured otherwise.
    Configured(String),
    /// A stream that has been given fewer messages than before.
    Back(String),
    /// A consumer that is gone, was made anew, or stands further back.
    Consumer(String),
    /// A connection that the server has ended.
    Dropped {
        /// Its number.
        connection: u64,
        /// Whom it was logged in as.
        user: String,
        /// Why, as the server says; nothing, where it doesn't remember.
        why: Option<String>,
    },
}

impl fmt::Display for Touched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restarted { before, after } => {
                write!(
                    f,
                    "the server was started again: it ran since {before}, and runs since {after}"
                )
            }
            Self::Account(name) => write!(f, "the account {name} is gone"),
            Self::Stream(name) => write!(f, "the stream {name} is gone, or was made anew"),
            Self::Configured(name) => write!(f, "the stream {name} is configured otherwise"),
            Self::Back(name) => write!(f, "the stream {name} stands further back than before"),
            Self::Consumer(name) => {
                write!(f, "the consumer {name} is gone, was made anew, or stands further back")
            }
            Self::Dropped { connection, user, why } => {
                let why = why.as_deref().unwrap_or("the server doesn't remember why");
                write!(f, "the connection {connection} of {user:?} has ended: {why}")
            }
        }
    }
}

/// Why a server says that a connection has ended where its client ended it.
const LEFT: [&str; 4] = ["Client Closed", "Read Error", "Write Error", "Stale Connection"];

/// What of other people's is not as it was before, on a server whose owners go on meanwhile: their streams may
/// grow and shrink and their clients come and leave, but nothing of theirs may be made anew, changed, set back or
/// dropped by the server. Nothing, where that holds.
#[must_use]
pub fn touched(before: &Survey, after: &Survey, ours: &Ours) -> Vec<Touched> {
    let mut found = Vec::new();
    if (&before.server.id, &before.server.start) != (&after.server.id, &after.server.start) {
        let (before, after) = (before.server.start.clone(), after.server.start.clone());
        found.push(Touched::Restarted { before, after });
    }
    let theirs = |account: &String| !ours.accounts.contains(account);
    for account in before.accounts.iter().filter(|name| theirs(name)) {
        if !after.accounts.contains(account) {
            found.push(Touched::Account(account.clone()));
        }
    }
    for (account, streams) in before.streams.iter().filter(|(account, _)| theirs(account)) {
        for (name, was) in streams {
            let told = format!("{account}/{name}");
            let Some(is) = after.stream(account, name).filter(|is| is.created == was.created)
            else {
                found.push(Touched::Stream(told));
                continue;
            };
            if is.config != was.config {
                found.push(Touched::Configured(told.clone()));
            }
            if is.last < was.last {
                found.push(Touched::Back(told.clone()));
            }
            for (consumer, was) in &was.consumers {
                let stands = is.consumers.get(consumer).is_some_and(|is| {
                    is.created == was.created
                        && is.delivered >= was.delivered
                        && is.settled >= was.settled
                });
                if !stands {
                    found.push(Touched::Consumer(format!("{told}/{consumer}")));
                }
            }
        }
    }
    for (connection, was) in before.connections.iter().filter(|(_, one)| theirs(&one.account)) {
        let there = after.connections.get(connection).is_some_and(|is| is.start == was.start);
        let why = after.ended.get(connection);
        if !there && !why.is_some_and(|why| LEFT.contains(&why.as_str())) {
            found.push(Touched::Dropped {
                connection: *connection,
                user: was.user.clone(),
                why: why.cloned(),
            });
        }
    }
    found
}
