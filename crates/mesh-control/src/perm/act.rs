//! What somebody tries.

use std::fmt;

use mesh_core::name::NameError;
use mesh_core::port::QueueGroup;
use mesh_core::subject::{Filter, Subject, SubjectError};

/// What a user tries on its connection. Exhaustive on purpose: a broker is asked for these two.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Act {
    /// Sends a message.
    Publish {
        /// Where to.
        subject: Subject,
        /// Its reply address.
        reply: Option<Subject>,
    },
    /// Listens.
    Subscribe {
        /// To what.
        filter: Filter,
        /// In which queue group.
        group: Option<QueueGroup>,
    },
}

/// Why a text is nothing that anybody can try. A message goes to one subject: to a pattern none can be sent, although
/// a nats-server takes one for an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActError {
    /// The subject, or the pattern.
    #[error("the subject: {}", .0.problem)]
    Subject(#[source] SubjectError),
    /// The reply address.
    #[error("the reply address: {}", .0.problem)]
    Reply(#[source] SubjectError),
    /// The queue group.
    #[error("the queue group: {}", .0.problem)]
    Group(#[source] NameError),
}

impl Act {
    /// Sending to `subject`.
    ///
    /// # Errors
    /// [`ActError::Subject`] and [`ActError::Reply`], for patterns too.
    pub fn publish(subject: &str, reply: Option<&str>) -> Result<Self, ActError> {
        Ok(Self::Publish {
            subject: Subject::new(subject).map_err(ActError::Subject)?,
            reply: reply.map(Subject::new).transpose().map_err(ActError::Reply)?,
        })
    }

    /// Listening to `filter`.
    ///
    /// # Errors
    /// [`ActError::Subject`] and [`ActError::Group`].
    pub fn subscribe(filter: &str, group: Option<&str>) -> Result<Self, ActError> {
        Ok(Self::Subscribe {
            filter: Filter::new(filter).map_err(ActError::Subject)?,
            group: group.map(QueueGroup::new).transpose().map_err(ActError::Group)?,
        })
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish { subject, reply: None } => write!(f, "publish to {subject}"),
            Self::Publish { subject, reply: Some(reply) } => {
                write!(f, "publish to {subject} with the reply address {reply}")
            }
            Self::Subscribe { filter, group: None } => write!(f, "subscribe to {filter}"),
            Self::Subscribe { filter, group: Some(group) } => {
                write!(f, "subscribe to {filter} in queue group {group}")
            }
        }
    }
}
