//! Many subjects at once: those of some events, those of a consumer, those of all tools (protocol §2).

use std::fmt;

use super::Topology;
use crate::name::ConsumerName;
use crate::subject::{Filter, SubjectError, normalise};

impl Topology {
    /// The calls of all tools.
    pub const TOOLS: &'static str = "mesh.tools.*.*";

    /// `mesh.events.<of>`: the text of an event's subject, or of a filter over such, where `of` is an event's
    /// `<module>.<event>`, or a filter over such.
    ///
    /// ```
    /// use mesh_core::topology::Topology;
    ///
    /// assert_eq!(Topology::events("mail.>").to_string(), "mesh.events.mail.>");
    /// ```
    pub fn events(of: impl fmt::Display) -> impl fmt::Display {
        fmt::from_fn(move |f| write!(f, "mesh.events.{of}"))
    }

    /// All that comes to the event consumer of this name: the events that it consumes, by filters over
    /// `<module>.<event>`, and what is sent back to it alone.
    ///
    /// # Errors
    /// `TooLong` where a filter below `mesh.events` exceeds a subject's length.
    pub fn arriving(
        consumer: &ConsumerName,
        consumes: &[Filter],
    ) -> Result<Vec<Filter>, SubjectError> {
        let consumed = consumes.iter().map(|filter| Filter::new(Self::events(filter).to_string()));
        let mut filters = normalise(consumed.collect::<Result<Vec<_>, _>>()?);
        filters.push(Filter::from_checked(format!("mesh.replay.{consumer}.>")));
        Ok(filters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::MeshSubject;

    #[test]
    fn a_family_has_the_subjects_of_its_kind_and_no_others() {
        let consumer = ConsumerName::new("n1_mail").unwrap();
        let consumes = ["crm.>", "crm.made", "shop.*"].map(|text| Filter::new(text).unwrap());
        let filters = Topology::arriving(&consumer, &consumes).unwrap();
        let texts: Vec<_> = filters.iter().map(Filter::as_str).collect();
        assert_eq!(texts, ["mesh.events.crm.>", "mesh.events.shop.*", "mesh.replay.n1_mail.>"]);
        let tools = Filter::new(Topology::TOOLS).unwrap();
        for (text, wanted) in [
            ("mesh.tools.mail.send", [true, false]),
            ("mesh.events.crm.made", [false, true]),
            ("mesh.events.mail.sent", [false, false]),
            ("mesh.replay.n1_mail.shop.sold", [false, true]),
            ("mesh.replay.n2_mail.shop.sold", [false, false]),
        ] {
            let subject = crate::subject::Subject::new(text).unwrap();
            MeshSubject::parse(&subject).unwrap();
            let arrives = filters.iter().any(|filter| filter.matches(&subject));
            assert_eq!([tools.matches(&subject), arrives], wanted, "{text}");
        }
        let long = Filter::new("a.".repeat(125) + "b").unwrap();
        assert!(Topology::arriving(&consumer, &[long]).is_err());
    }
}
