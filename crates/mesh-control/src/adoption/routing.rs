use std::fmt;

use mesh_core::topology::SeatAddress;

use super::{Ours, Survey};

/// Something that goes over a bus to which nothing should be routed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Routed {
    /// The mesh's accounts are not there, so nothing can be said of them.
    NoAccount(String),
    /// A client of the mesh's accounts that is not the controller's.
    Client {
        /// Its connection's number.
        connection: u64,
        /// Whom it is logged in as.
        user: String,
        /// In which account.
        account: String,
        /// To how much it listens.
        subscriptions: usize,
    },
    /// A stream that has been given something.
    Stored {
        /// `BUS/EVENTS`.
        stream: String,
        /// How many messages it was ever given.
        given: u64,
    },
    /// A consumer that has delivered something.
    Delivered {
        /// `BUS/EVENTS/n1_mail`.
        consumer: String,
        /// How many deliveries it has made.
        deliveries: u64,
    },
}

impl fmt::Display for Routed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAccount(name) => write!(f, "there is no account {name}"),
            Self::Client { connection, user, account, subscriptions } => {
                let user = if user.is_empty() { "somebody without a name" } else { user };
                write!(
                    f,
                    "{user} is connected to {account} (connection {connection}, {subscriptions} subscriptions)"
                )
            }
            Self::Stored { stream, given } => write!(f, "{stream} was given {given} messages"),
            Self::Delivered { consumer, deliveries } => {
                write!(f, "{consumer} has delivered {deliveries} messages")
            }
        }
    }
}

/// What goes over a mesh's accounts; nothing, where nothing does: no client but the controller's, nobody else who
/// listens, and no stream was ever given a message.
#[must_use]
pub fn routed(survey: &Survey, ours: &Ours) -> Vec<Routed> {
    let missing = ours.accounts.iter().filter(|name| !survey.accounts.contains(*name));
    let mut found: Vec<Routed> = missing.cloned().map(Routed::NoAccount).collect();
    for (connection, one) in &survey.connections {
        if ours.accounts.contains(&one.account) && !ours.controllers.contains(&one.user) {
            found.push(Routed::Client {
                connection: *connection,
                user: one.user.clone(),
                account: one.account.clone(),
                subscriptions: one.subscriptions.len(),
            });
        }
    }
    let streams = survey.streams.iter().filter(|(account, _)| ours.accounts.contains(*account));
    for (account, streams) in streams {
        for (name, stream) in
            streams.iter().filter(|(name, _)| SeatAddress::of_stream(name).is_none())
        {
            let stream_name = format!("{account}/{name}");
            for (consumer, facts) in
                stream.consumers.iter().filter(|(_, facts)| facts.delivered > 0)
            {
                let consumer = format!("{stream_name}/{consumer}");
                found.push(Routed::Delivered { consumer, deliveries: facts.delivered });
            }
            if stream.last > 0 {
                found.push(Routed::Stored { stream: stream_name, given: stream.last });
            }
        }
    }
    found
}
