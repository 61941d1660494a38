//! What a broker says to somebody who tries something.

use super::Permissions;
use crate::port::QueueGroup;
use crate::subject::{Filter, Subject};
use crate::topology::Inbox;

/// What a broker that enforces [`Permissions`] says to a message or a subscription. Exhaustive on purpose: whoever
/// enforces or explains has to handle each.
///
/// ```
/// use mesh_core::permissions::{Permissions, Rules, Verdict};
/// use mesh_core::subject::{Filter, Subject};
///
/// let publish = Rules::allow([Filter::new("a.>")?]).except([Filter::new("a.secret")?]);
/// let may = Permissions { publish, ..Permissions::default() };
/// assert_eq!(may.on_publish(&Subject::new("a.b")?, None), Verdict::Allowed);
/// assert_eq!(may.on_publish(&Subject::new("a.secret")?, None), Verdict::Denied);
/// assert_eq!(may.on_publish(&Subject::new("b")?, None), Verdict::NotAllowed);
/// let reply = Subject::new("$JS.ACK.EVENTS.n1_mail.1.1.1.0.0")?;
/// assert_eq!(may.on_publish(&Subject::new("a.b")?, Some(&reply)), Verdict::BrokersReply);
/// # Ok::<(), mesh_core::subject::SubjectError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It goes through.
    Allowed,
    /// Refused: no rule allows it.
    NotAllowed,
    /// Refused: a rule denies it, whatever else allows it.
    Denied,
    /// Refused: its reply address is one that the broker alone hands out (protocol §4).
    BrokersReply,
}

impl Verdict {
    /// Whether it goes through.
    #[must_use]
    pub fn is_allowed(self) -> bool {
        self == Self::Allowed
    }
}

impl Permissions {
    /// What is said to a message to `subject` with this reply address. The address itself needs no right: where
    /// an answer goes, is asked of who answers (protocol §4).
    #[must_use]
    pub fn on_publish(&self, subject: &Subject, reply: Option<&Subject>) -> Verdict {
        if self.publish.hides(subject) {
            Verdict::Denied
        } else if !self.publish.allows(subject) || Inbox::is_between_clusters(subject) {
            Verdict::NotAllowed
        } else if reply.is_some_and(Inbox::is_brokers) {
            Verdict::BrokersReply
        } else {
            Verdict::Allowed
        }
    }

    /// What is said to a subscription of `filter`, in this group or in none. One that is denied in part is allowed,
    /// and doesn't hear that part.
    #[must_use]
    pub fn on_subscribe(&self, filter: &Filter, group: Option<&QueueGroup>) -> Verdict {
        if self.subscribe.denies_filter(filter) {
            Verdict::Denied
        } else if self.subscribe.permits_filter(filter, group) {
            Verdict::Allowed
        } else {
            Verdict::NotAllowed
        }
    }
}
