use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::subject::overlaps;
use mesh_core::topology::{Retention, Topology};

/// Refuses what no server can hold, before anything is asked of one.
pub(super) fn check(topology: &Topology) -> Result<(), TransportError> {
    let refused = |object: String, detail: &'static str| {
        let error = TransportError::new(ErrorKind::Invalid, Operation::Assert);
        Err(error.about(object).detail(detail))
    };
    let mut subjects = Vec::new();
    for stream in topology.streams() {
        if stream.subjects.is_empty() {
            // The server would give it a subject of its own name.
            return refused(stream.name.to_string(), "it takes no subject");
        }
        subjects.extend(stream.subjects.iter().cloned());
        if overlaps(&subjects).next().is_some() {
            return refused(stream.name.to_string(), "its subjects overlap another's");
        }
        let consumers =
            topology.consumers().iter().filter(|other| other.reference.stream == stream.name);
        let consumers = consumers.count();
        if stream.retention == Retention::WorkQueue && consumers > 1 {
            return refused(stream.name.to_string(), "a work queue has one consumer");
        }
        if consumers > stream.max_consumers as usize {
            return refused(stream.name.to_string(), "it takes no more consumers");
        }
    }
    match topology.consumers().iter().find(|consumer| consumer.filters.is_empty()) {
        // The server would give it everything.
        Some(consumer) => refused(consumer.reference.to_string(), "it selects nothing"),
        None => Ok(()),
    }
}
