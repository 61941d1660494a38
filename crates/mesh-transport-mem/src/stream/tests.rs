use std::time::Duration;

use mesh_core::name::ConsumerName;
use mesh_core::port::{DriftMode, Reason, Verdict};
use mesh_core::subject::Filter;
use mesh_core::topology::{ConsumerRef, ConsumerRules, ConsumerSpec, DeliverFrom, Topology};

use super::*;

const NOW: Duration = Duration::ZERO;

/// The event stream, its one consumer made anew each time it is asserted.
struct Bed {
    stream: Stream,
    topology: Topology,
    consumer: ConsumerRef,
}

impl Bed {
    fn new() -> Self {
        let consumer = ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_audit").unwrap());
        let topology = Topology::new().with_consumer(ConsumerSpec {
            reference: consumer.clone(),
            filters: vec![Filter::new("mesh.events.mail.>").unwrap()],
            rules: ConsumerRules::of(StreamName::Events),
            deliver_from: DeliverFrom::All,
        });
        let events = topology.stream(StreamName::Events).unwrap().clone();
        let stream = Stream::new(events, Timestamp::from_millis(0));
        Self { stream, topology, consumer }
    }

    fn assert(&self) {
        let (drift, _effects) =
            assert(&self.stream, &self.topology, Plan::Assert(DriftMode::Report));
        assert_eq!(drift, []);
    }

    /// Seats a reader and gives it the next message.
    fn read(&self, seat: u64) -> (Seat, Ticket) {
        let seat = Seat::new(SeatId(seat), self.consumer.clone(), true);
        self.stream.join(&seat, 10, Vec::new()).unwrap();
        match self.stream.next(&seat, NOW, Waker::noop()).0 {
            Found::Message(ticket) => (seat, ticket),
            other => panic!("{other:?}"),
        }
    }

    fn in_flight(&self) -> u64 {
        let state = self.stream.consumer_state(&self.consumer.consumer, NOW);
        state.unwrap().in_flight.unwrap()
    }
}

#[test]
fn a_burial_of_a_retired_consumer_settles_nothing_of_its_successor() {
    for done in [true, false] {
        let bed = Bed::new();
        bed.assert();
        let event = Message::new(Subject::new("mesh.events.mail.sent").unwrap(), "a");
        let appended = bed.stream.append(&event, Append::plain(), Timestamp::from_millis(0), NOW);
        assert_eq!(appended.unwrap().0.sequence, Some(1));
        let (seat, ticket) = bed.read(1);
        let verdict = Verdict::Terminate(Reason::new("no use"));
        let effects = bed.stream.settle(&seat, &ticket, verdict, NOW);
        let [burial] = &effects.burials[..] else {
            panic!("{effects:?}");
        };

        let name = &bed.consumer.consumer;
        assert!(bed.stream.retire(name).0);
        bed.assert();
        let (_seat, again) = bed.read(2);
        assert_eq!(again.sequence, burial.sequence);
        let late = bed.stream.buried(name, burial.instance, burial.sequence, done, NOW);
        assert!(late.look_at.is_empty(), "it is not tried again: {late:?}");
        assert_eq!(bed.in_flight(), 1, "its successor still owes it");

        let own = bed.stream.buried(name, again.instance, again.sequence, true, NOW);
        assert!(own.burials.is_empty());
        assert_eq!(bed.in_flight(), 0);
    }
}
