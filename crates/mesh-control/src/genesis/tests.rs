use std::collections::BTreeSet;

use mesh_core::name::{ModuleName, NodeName};
use mesh_core::port::Held;
use mesh_core::subject::Filter;
use mesh_core::topology::{StreamName, Topology};

use super::order::{CLOSED, closed, steps};
use super::presence::named;

/// So many modules that consume, on one node.
fn mesh(modules: usize) -> Topology {
    let node = NodeName::new("n1").unwrap();
    let consumes = [Filter::new("shop.>").unwrap()];
    (0..modules).fold(Topology::new().with_node(&node), |topology, number| {
        let module = ModuleName::new(format!("m{number}")).unwrap();
        topology.with_module(&node, &module, &consumes).unwrap()
    })
}

/// The objects in the order in which they are made.
fn made(topology: &Topology, there: &BTreeSet<Held>) -> Vec<Held> {
    let mut made = Vec::new();
    for step in steps(topology, |held| !there.contains(held)) {
        for held in step.objects() {
            if !there.contains(&held) && !made.contains(&held) {
                made.push(held);
            }
        }
    }
    made
}

#[test]
fn everything_is_made_once_streams_before_their_consumers_and_events_last() {
    let topology = mesh(200);
    let made = made(&topology, &BTreeSet::new());
    assert_eq!(made.iter().cloned().collect::<BTreeSet<_>>(), named(&topology).collect());
    let place = |held: &Held| made.iter().position(|other| other == held).unwrap();
    for spec in topology.consumers() {
        let stream = place(&Held::Stream(spec.reference.stream));
        assert!(stream < place(&Held::Consumer(spec.reference.clone())), "{}", spec.reference);
    }
    let order: Vec<usize> = [
        StreamName::EventsDead,
        StreamName::Advisories,
        StreamName::Control,
        StreamName::Builds,
        StreamName::Nodes,
        StreamName::Events,
    ]
    .map(|stream| place(&Held::Stream(stream)))
    .into();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(order.len(), StreamName::ALL.len());
    let of_events = |held: &Held| match held {
        Held::Stream(stream) => *stream == StreamName::Events,
        Held::Consumer(consumer) => consumer.stream == StreamName::Events,
        Held::Other(_) => false,
    };
    let first = made.iter().position(of_events).unwrap();
    assert!(made[first..].iter().all(of_events));
}

#[test]
fn many_consumers_are_made_some_at_a_time_so_that_it_is_known_how_far_it_got() {
    let topology = mesh(200);
    let steps = steps(&topology, |_| true);
    assert!(steps.iter().all(|step| step.topology.consumers().len() <= 64));
    let of_events = steps.iter().filter(|step| step.topology.stream(StreamName::Events).is_some());
    assert_eq!(of_events.count(), 1 + 4);
}

#[test]
fn what_is_there_is_in_no_step() {
    let topology = mesh(3);
    assert!(steps(&topology, |_| false).is_empty());
    let one = Held::Consumer(topology.consumers().last().unwrap().reference.clone());
    let there: BTreeSet<Held> = named(&topology).filter(|held| *held != one).collect();
    assert_eq!(made(&topology, &there), [one]);
}

#[test]
fn closed_is_smaller_than_any_event_and_nothing_else_differs() {
    let topology = mesh(1);
    let closed = closed(&topology);
    assert_eq!(closed.consumers(), topology.consumers());
    for spec in topology.streams() {
        let other = closed.stream(spec.name).unwrap();
        let expected = if spec.name == StreamName::Events { CLOSED } else { spec.max_bytes };
        assert_eq!(other.max_bytes, expected);
    }
    assert_eq!(CLOSED, 1);
}

#[test]
fn ten_thousand_modules_are_put_in_order_in_no_time() {
    let one = mesh(1);
    let spec = one.consumers().last().unwrap().clone();
    let many = (0..10_000).map(|number| {
        let mut spec = spec.clone();
        spec.reference.consumer =
            mesh_core::name::ConsumerName::new(format!("n1_m{number}")).unwrap();
        spec
    });
    let topology = one.with_consumers(many);
    let began = std::time::Instant::now();
    assert_eq!(made_count(&topology), topology.consumers().len() + topology.streams().len());
    // Not by comparing each with each, which would take minutes.
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

fn made_count(topology: &Topology) -> usize {
    let steps = steps(topology, |_| true);
    let objects: BTreeSet<Held> = steps.iter().flat_map(|step| step.objects()).collect();
    objects.len()
}
