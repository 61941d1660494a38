use proptest::prelude::*;

use crate::model::Operation;

/// One step on a durable broker. Time moves by spans below and above
/// a claim's and a known id's.
pub fn operation() -> impl Strategy<Value = Operation> {
    let id = prop::option::weighted(0.4, 0..3_u8);
    let delay = prop::option::weighted(0.5, prop::sample::select(&[1_u8, 7, 40][..]));
    let index = any::<u8>;
    prop_oneof![
        6 => (0..3_u8, id).prop_map(|(subject, id)| Operation::Append { subject, id }),
        3 => (0..3_u8).prop_map(|consumer| Operation::Attach { consumer }),
        1 => index().prop_map(|reader| Operation::Detach { reader }),
        1 => index().prop_map(|reader| Operation::Reconnect { reader }),
        3 => index().prop_map(|held| Operation::Ack { held }),
        4 => (index(), delay).prop_map(|(held, delay)| Operation::Nak { held, delay }),
        1 => index().prop_map(|held| Operation::Terminate { held }),
        1 => index().prop_map(|held| Operation::Progress { held }),
        1 => index().prop_map(|held| Operation::Drop { held }),
        3 => prop::sample::select(&[1_u8, 7, 29, 61][..])
            .prop_map(|seconds| Operation::Advance { seconds }),
    ]
}

/// A sequence of up to `most` steps, now and then with the retirement of a consumer in it.
pub fn operations(most: usize) -> impl Strategy<Value = Vec<Operation>> {
    let retire = (any::<prop::sample::Index>(), 0..3_u8);
    let steps = prop::collection::vec(operation(), 1..=most);
    (steps, prop::option::weighted(0.2, retire)).prop_map(|(mut steps, retire)| {
        if let Some((place, consumer)) = retire {
            let place = place.index(steps.len() + 1);
            steps.insert(place, Operation::Retire { consumer });
        }
        steps
    })
}
