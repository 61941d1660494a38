//! The server's notices about deliveries that were given up (protocol §2).

use super::{AddressError, ConsumerRef, StreamName};
use crate::name::ConsumerName;
use crate::subject::Subject;

/// The subject of a notice that a consumer's delivery was given up:
/// `$JS.EVENT.ADVISORY.CONSUMER.<kind>.<stream>.<consumer>`. The server chose it, so the consumer is
/// certain, which that in the notice's body is not.
///
/// ```
/// use mesh_core::subject::Subject;
/// use mesh_core::topology::{Advisory, AdvisoryKind};
///
/// let text = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.n1_mail";
/// let notice = Advisory::parse(&Subject::new(text)?)?;
/// assert_eq!(notice.kind, AdvisoryKind::MaxDeliveries);
/// assert_eq!(notice.consumer.to_string(), "EVENTS/n1_mail");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is a pair")]
pub struct Advisory {
    /// Why there is a notice.
    pub kind: AdvisoryKind,
    /// Whose delivery it was.
    pub consumer: ConsumerRef,
}

/// Why the server sends a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdvisoryKind {
    /// It was tried as often as the consumer allows.
    MaxDeliveries,
    /// Its reader gave it up.
    Terminated,
}

const ADVISORY: &str = "$JS.EVENT.ADVISORY.CONSUMER.";

impl AdvisoryKind {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::MaxDeliveries, Self::Terminated];

    /// The token in the subject.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxDeliveries => "MAX_DELIVERIES",
            Self::Terminated => "MSG_TERMINATED",
        }
    }
}

impl Advisory {
    /// Reads one about a consumer of a stream of the mesh.
    ///
    /// # Errors
    /// [`AddressError::NotANotice`].
    pub fn parse(subject: &Subject) -> Result<Self, AddressError> {
        Self::read(subject).ok_or(AddressError::NotANotice)
    }

    fn read(subject: &Subject) -> Option<Self> {
        let mut tokens = subject.as_str().strip_prefix(ADVISORY)?.split('.');
        let kind = tokens.next()?;
        let kind = AdvisoryKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
        let stream = StreamName::from_name(tokens.next()?)?;
        let consumer = ConsumerName::new(tokens.next()?).ok()?;
        tokens.next().is_none().then(|| Self { kind, consumer: ConsumerRef::new(stream, consumer) })
    }

    /// As the server writes it.
    #[must_use]
    pub fn to_subject(&self) -> Subject {
        let (kind, ConsumerRef { stream, consumer }) = (self.kind.as_str(), &self.consumer);
        Subject::from_checked(format!("{ADVISORY}{kind}.{stream}.{consumer}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    #[test]
    fn a_notice_goes_both_ways_and_its_stream_takes_those_of_events() {
        let topology = Topology::new();
        let subjects = &topology.stream(StreamName::Advisories).unwrap().subjects;
        for stream in StreamName::ALL {
            for kind in AdvisoryKind::ALL {
                let consumer = ConsumerRef::new(stream, ConsumerName::new("n1_mail").unwrap());
                let notice = Advisory { kind, consumer };
                let subject = notice.to_subject();
                assert_eq!(Advisory::parse(&subject), Ok(notice));
                let taken = subjects.iter().any(|filter| filter.matches(&subject));
                assert_eq!(taken, stream == StreamName::Events, "{subject}");
            }
        }
    }

    #[test]
    fn anything_else_is_no_notice() {
        for text in [
            "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS",
            "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.n1_mail.x",
            "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.ORDERS.n1_mail",
            "$JS.EVENT.ADVISORY.CONSUMER.DELETED.EVENTS.n1_mail",
            "$JS.EVENT.ADVISORY.STREAM.MAX_DELIVERIES.EVENTS.n1_mail",
        ] {
            let subject = Subject::new(text).unwrap();
            assert_eq!(Advisory::parse(&subject), Err(AddressError::NotANotice), "{text}");
        }
    }
}
