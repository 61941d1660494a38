use super::StreamName;
use crate::subject::{Filter, Subject};

/// In which of a nats-server's accounts somebody is (protocol §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "a split mesh has two, any other has one")]
pub enum Account {
    /// BUS: the streams and the controller's user beside them.
    Bus,
    /// EDGE: everybody else.
    Edge,
    /// The one account of a mesh that is not split.
    Whole,
}

/// What passes between the two accounts of a split mesh (protocol §4). Nothing else does.
///
/// ```
/// use mesh_core::subject::Subject;
/// use mesh_core::topology::Passage;
///
/// let crosses = |text: &str| Subject::new(text).map(|subject| Passage::is_to_bus(&subject));
/// assert!(crosses("mesh.events.mail.sent")?);
/// assert!(!crosses("mesh.tools.mail.send")?);
/// # Ok::<(), mesh_core::subject::SubjectError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a nats-server exports these two")]
pub enum Passage {
    /// From EDGE to BUS: who publishes it in EDGE reaches BUS, and the streams.
    Service(Filter),
    /// From BUS to EDGE: what a consumer delivers.
    Stream(Filter),
}

/// Whose subjects go from EDGE to BUS, besides acknowledgements. `mesh.control.enrol` and
/// `mesh.control.built` are never named one by one: a relayed message passes such an import, and not one
/// with a wildcard.
const SERVICES: [&str; 4] =
    ["mesh.events.*.>", "mesh.control.*.report", "mesh.control.*", "mesh.control.*.alive"];

/// The streams that somebody in EDGE reads.
const READ: [StreamName; 3] = [StreamName::Events, StreamName::Nodes, StreamName::Builds];

impl Passage {
    /// All of them, in the order in which a configuration lists them.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let fixed = |text: String| Filter::from_checked(text);
        let services = SERVICES.iter().map(|text| (*text).to_owned());
        let acks = READ.map(|stream| format!("$JS.ACK.{stream}.>"));
        let new_acks = READ.map(|stream| format!("$JS.ACK.*.*.{stream}.>"));
        let services = services.chain(acks).chain(new_acks).map(fixed).map(Self::Service);
        let deliveries = READ.map(|stream| format!("mesh.deliver.{stream}.*"));
        services.chain(deliveries.into_iter().map(fixed).map(Self::Stream)).collect()
    }

    /// Whether what is published there in EDGE reaches BUS.
    #[must_use]
    pub fn is_to_bus(subject: &Subject) -> bool {
        Self::all().iter().any(|passage| match passage {
            Self::Service(filter) => filter.matches(subject),
            Self::Stream(_) => false,
        })
    }

    /// Whether what is published there in BUS reaches EDGE.
    #[must_use]
    pub fn is_to_edge(subject: &Subject) -> bool {
        Self::all().iter().any(|passage| match passage {
            Self::Stream(filter) => filter.matches(subject),
            Self::Service(_) => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_asks_answers_and_the_servers_api_stay_where_they_are() {
        let subject = |text: &str| Subject::new(text).unwrap();
        for text in [
            "mesh.control.enrol",
            "mesh.control.built",
            "mesh.control.n1.alive",
            "$JS.ACK.NODES.n1.1.1.1.1.0",
            "$JS.ACK._.hash.EVENTS.n1_mail.1.1.1.1.0.x",
        ] {
            assert!(Passage::is_to_bus(&subject(text)), "{text}");
            assert!(!Passage::is_to_edge(&subject(text)), "{text}");
        }
        for text in [
            "mesh.tools.mail.send",
            "mesh.ask.n1.credential",
            "mesh.events.dead",
            "mesh.replay.n1_mail.shop.sold",
            "mesh.node.n1.declare",
            "mesh.build.request",
            "$JS.API.STREAM.DELETE.EVENTS",
            "$JS.ACK.CONTROL.controller.1.1.1.1.0",
            "_INBOX.mail.n1.shop.00",
        ] {
            assert!(!Passage::is_to_bus(&subject(text)), "{text}");
            assert!(!Passage::is_to_edge(&subject(text)), "{text}");
        }
        assert!(Passage::is_to_edge(&subject("mesh.deliver.NODES.n1")));
        assert!(!Passage::is_to_edge(&subject("mesh.deliver.CONTROL.controller")));
    }
}
