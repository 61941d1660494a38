//! Whom a message reaches, and from whom one can come.

use std::fmt;

use mesh_core::permissions::Permissions;
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{DeliverySubject, Passage, StreamName};

use super::note::list;
use crate::compose::{Account, Composition, User};

/// Whom a message reaches that is let through.
///
/// Shown as a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reach {
    /// Users who may listen there, by name; not the sender.
    pub users: Vec<String>,
    /// The stream that keeps it.
    pub stream: Option<StreamName>,
    /// Whether the server itself takes it: an acknowledgement, or a question to its API.
    pub server: bool,
    /// Whether the sender may listen there itself.
    pub sender: bool,
    /// The accounts that it is in.
    pub accounts: Vec<Account>,
}

impl Reach {
    /// Whether nobody and nothing takes it.
    #[must_use]
    pub fn is_nobody(&self) -> bool {
        self.users.is_empty() && self.stream.is_none() && !self.server && !self.sender
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nobody() {
            return write!(f, "nobody hears it in {}", list(&self.accounts));
        }
        let mut taken = Vec::new();
        taken.extend(self.stream.map(|stream| format!("it is kept in the stream {stream}")));
        if self.server {
            taken.push("the server takes it".to_owned());
        }
        if !self.users.is_empty() {
            taken.push(format!("{} may hear it", list(&self.users)));
        } else if self.sender {
            taken.push("the sender alone may hear it".to_owned());
        }
        f.write_str(&taken.join("; "))
    }
}

/// Where a message of `user` to `subject` gets.
pub(super) fn of(mesh: &Composition, user: &User, subject: &Subject) -> Reach {
    let mut accounts = vec![user.account()];
    // Nothing but this passes from one account to another.
    match user.account() {
        Account::Edge if Passage::is_to_bus(subject) => accounts.push(Account::Bus),
        Account::Bus if Passage::is_to_edge(subject) => accounts.push(Account::Edge),
        _ => {}
    }
    let hears = |user: &&User| {
        accounts.contains(&user.account()) && user.permissions().subscribe.hears(subject)
    };
    let (own, others): (Vec<&User>, Vec<&User>) =
        mesh.users().iter().filter(hears).partition(|other| other.name() == user.name());
    let has_streams = accounts.iter().any(|account| has_streams(*account));
    let takes = |filters: &[Filter]| filters.iter().any(|filter| filter.matches(subject));
    let mut streams = mesh.topology().streams().iter().filter(|_| has_streams);
    let server = ["$JS.API.", "$JS.ACK."].iter().any(|begin| subject.as_str().starts_with(begin));
    Reach {
        users: others.into_iter().map(|user| user.name().to_owned()).collect(),
        stream: streams.find(|stream| takes(&stream.subjects)).map(|stream| stream.name),
        server: server && has_streams,
        sender: !own.is_empty(),
        accounts,
    }
}

/// Who may send what `user` hears at `filter`: users by their names, and the streams.
pub(super) fn senders(mesh: &Composition, user: &User, filter: &Filter) -> Vec<String> {
    let passes = |filter: &Filter| {
        let mut passages = Passage::all().into_iter();
        passages.any(|passage| match (user.account(), passage) {
            (Account::Edge, Passage::Stream(passing))
            | (Account::Bus, Passage::Service(passing)) => passing.overlaps(filter),
            _ => false,
        })
    };
    let from = |other: Account| {
        other == user.account()
            || matches!(
                (other, user.account()),
                (Account::Edge, Account::Bus) | (Account::Bus, Account::Edge)
            ) && passes(filter)
    };
    let mut names: Vec<String> = (mesh.users().iter())
        .filter(|other| from(other.account()) && may_send(&other.permissions(), filter))
        .map(|other| other.name().to_owned())
        .collect();
    let delivers = has_streams(user.account()) || user.account() == Account::Edge;
    for consumer in mesh.topology().consumers().iter().filter(|_| delivers) {
        let subject = DeliverySubject::of(consumer.reference.clone()).to_subject();
        let arrives = has_streams(user.account()) || Passage::is_to_edge(&subject);
        if arrives && filter.matches(&subject) {
            names.push(format!("the stream {}", consumer.reference.stream));
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Whether somebody may publish something that matches, as far as it shows at once.
fn may_send(may: &Permissions, filter: &Filter) -> bool {
    let rules = &may.publish;
    rules.allowed().iter().any(|rule| {
        let denied = |denied: &Filter| denied.contains(filter) || denied.contains(&rule.filter);
        rule.filter.overlaps(filter) && !rules.denied().iter().any(denied)
    })
}

fn has_streams(account: Account) -> bool {
    matches!(account, Account::Bus | Account::Mesh)
}
