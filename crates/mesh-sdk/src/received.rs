use mesh_core::event::Event;
use mesh_core::port::{Delivery, Reason};
use mesh_core::topology::MeshSubject;

use crate::event::ReceivedEvent;

/// The event in a delivery, or why it can't be one.
pub(crate) fn received(delivery: &Delivery) -> Result<ReceivedEvent, Reason> {
    let message = delivery.message();
    let undecodable = |error: &dyn std::fmt::Display| Reason::undecodable(error.to_string());
    let (module, name, replayed) = match MeshSubject::parse(message.subject()) {
        Ok(MeshSubject::Event { module, event }) => (module, event, false),
        Ok(MeshSubject::Replay { module, event, .. }) => (module, event, true),
        Ok(_) => return Err(Reason::undecodable("not the subject of an event")),
        Err(error) => return Err(undecodable(&error)),
    };
    let event = Event::decode(message.headers().iter(), message.payload().clone())
        .map_err(|error| undecodable(&error))?;
    event.verify_source(&module).map_err(|error| Reason::unverifiable(error.to_string()))?;
    let attempt = delivery.info().attempt;
    // Whether it was interrupted is each handler's own.
    Ok(ReceivedEvent { module, name, event, attempt, replayed, interrupted: false })
}
