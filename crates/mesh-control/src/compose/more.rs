use std::collections::BTreeSet;

use mesh_core::mx::MailboxKind;
use mesh_core::name::{InstanceName, RealmName, TokenId};
use mesh_core::port::QueueGroup;

/// Who has a user, or has none, for other reasons than the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct More {
    /// The enrolment tokens that may still be spent.
    pub enrolments: BTreeSet<TokenId>,
    /// Users who are revoked, by their names, `person.ada`: they have none, whatever the files say.
    pub revoked: BTreeSet<String>,
    /// Gateways of realms whose backbone is an account of this server.
    pub gateways: Vec<Gateway>,
}

/// A realm's gateway on a backbone (protocol §8).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what its permissions follow from, and no more")]
pub struct Gateway {
    /// Which.
    pub name: InstanceName,
    /// Its realm.
    pub realm: RealmName,
    /// The kinds of its own mailboxes.
    pub kinds: Vec<MailboxKind>,
    /// Whom it writes to.
    pub peers: Vec<(RealmName, MailboxKind)>,
    /// The group in which several gateways share their realm's mailboxes.
    pub group: Option<QueueGroup>,
}
