use proptest::prelude::*;

use crate::differential::{Answering, Last, LiveStep, Manner, Place, Step, Why};

fn event() -> impl Strategy<Value = Place> {
    prop_oneof![4 => Just(Place::Sold), 2 => Just(Place::Left)]
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        8 => event(),
        2 => Just(Place::Replay),
        3 => Just(Place::Report),
        2 => Just(Place::Declare),
    ]
}

fn append() -> impl Strategy<Value = Step> {
    let last = prop_oneof![3 => Just(Last::Known), 1 => Just(Last::Zero), 1 => Just(Last::Wrong)];
    (place(), prop::option::weighted(0.3, 0..3_u8), prop::option::weighted(0.2, last))
        .prop_map(|(to, id, last)| Step::Append { to, id, last, clerk: false })
}

fn refused() -> impl Strategy<Value = Step> {
    let by_clerk = event().prop_map(|to| Step::Append { to, id: None, last: None, clerk: true });
    let nowhere = Step::Append { to: Place::Nowhere, id: None, last: None, clerk: false };
    prop_oneof![
        8 => by_clerk,
        2 => Just(Step::AppendTooMuch),
        2 => Just(Step::AppendForged),
        1 => Just(nowhere),
        4 => any::<u8>().prop_map(|consumer| Step::Trespass { consumer }),
    ]
}

fn settling() -> impl Strategy<Value = Step> {
    let why = prop::sample::select(&[Why::Useless, Why::Undecodable, Why::Unverifiable][..]);
    // Half of them mean the oldest, so that some have all their tries.
    let held = || prop_oneof![Just(0), any::<u8>()];
    prop_oneof![
        4 => held().prop_map(|held| Step::Ack { held }),
        5 => (held(), prop::bool::weighted(0.3)).prop_map(|(held, later)| Step::Nak { held, later }),
        2 => (held(), why).prop_map(|(held, why)| Step::Terminate { held, why }),
        1 => held().prop_map(|held| Step::Progress { held }),
        2 => held().prop_map(|held| Step::Drop { held }),
    ]
}

/// One step on streams and durable consumers, none that lets claims run out.
pub fn step() -> impl Strategy<Value = Step> {
    let consumer = any::<u8>;
    let published = prop_oneof![4 => event(), 1 => Just(Place::Report)];
    let read = (place(), prop::option::weighted(0.5, any::<u8>()));
    prop_oneof![
        12 => append(),
        2 => refused(),
        2 => published.prop_map(|to| Step::Publish { to }),
        1 => read.prop_map(|(from, sequence)| Step::Read { from, sequence }),
        7 => consumer().prop_map(|consumer| Step::Attach { consumer }),
        3 => (consumer(), any::<bool>())
            .prop_map(|(consumer, keeping)| Step::Leave { consumer, keeping }),
        2 => consumer().prop_map(|consumer| Step::Close { consumer }),
        14 => settling(),
        2 => Just(Step::Wait),
    ]
}

/// Up to `most` steps, now and then with the retirement of a consumer in it.
pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let place = any::<prop::sample::Index>;
    let retire = (place(), any::<u8>(), prop::option::weighted(0.6, place()));
    let steps = prop::collection::vec(step(), 1..=most);
    (steps, prop::option::weighted(0.2, retire)).prop_map(|(mut steps, retire)| {
        if let Some((at, consumer, again)) = retire {
            let at = at.index(steps.len() + 1);
            steps.insert(at, Step::Retire { consumer });
            if let Some(again) = again {
                let later = at + 1 + again.index(steps.len() - at);
                steps.insert(later, Step::Assert);
            }
        }
        steps
    })
}

/// Up to `most` steps, with one or two among them that let claims run out: which take seconds each where
/// time can't be moved.
pub fn lapsing_steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let places = prop::collection::vec(any::<prop::sample::Index>(), 1..=2);
    (prop::collection::vec(step(), 1..=most), places).prop_map(|(mut steps, places)| {
        for place in places {
            let place = place.index(steps.len() + 1);
            steps.insert(place, Step::Lapse);
        }
        steps
    })
}

/// One step on live messages and requests.
pub fn live_step() -> impl Strategy<Value = LiveStep> {
    let some = any::<u8>;
    let manner = prop_oneof![
        10 => Just(Manner::Plain),
        4 => Just(Manner::ToSomebody),
        2 => Just(Manner::Reply),
        1 => Just(Manner::ReplyToSomebody),
        1 => Just(Manner::BrokerReply),
        1 => Just(Manner::BrokerHeader),
        1 => Just(Manner::TooMuch),
    ];
    let answering = prop_oneof![
        6 => Just(Answering::Answers),
        1 => Just(Answering::Ignores),
        1 => Just(Answering::TooLate),
        1 => Just(Answering::TooMuch),
    ];
    let group = prop::option::weighted(0.5, 0..2_u8);
    prop_oneof![
        8 => (some(), some(), group)
            .prop_map(|(by, filter, group)| LiveStep::Subscribe { by, filter, group }),
        4 => (some(), some()).prop_map(|(by, tool)| LiveStep::Serve { by, tool }),
        3 => some().prop_map(|open| LiveStep::Drop { open }),
        14 => (some(), some(), manner)
            .prop_map(|(by, to, manner)| LiveStep::Publish { by, to, manner }),
        6 => (some(), some(), answering)
            .prop_map(|(by, tool, answering)| LiveStep::Request { by, tool, answering }),
        1 => some().prop_map(|by| LiveStep::Close { by }),
        2 => some().prop_map(|by| LiveStep::Dial { by }),
    ]
}

/// Up to `most` of them.
pub fn live_steps(most: usize) -> impl Strategy<Value = Vec<LiveStep>> {
    prop::collection::vec(live_step(), 1..=most)
}
