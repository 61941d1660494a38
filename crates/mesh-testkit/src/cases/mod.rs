//! The cases, one file a group. Each is named after the bullet that it proves.

mod administration;
mod append;
mod append_refused;
mod close;
mod consume;
mod dead;
mod denials;
mod desk;
mod given_up;
mod given_up_streams;
mod groups;
mod inspect;
mod late;
mod office;
mod publish;
mod publish_refused;
mod read;
mod replay;
mod request;
mod serve;
mod settle;
mod sharing;
mod slow;
mod states;
mod subscribe;
mod window;
mod withdrawn;
mod work;

use mesh_core::port::Capability;

use crate::suite::Case;

/// Each group, with the capability that its port hangs on.
const GROUPS: &[(Option<Capability>, &[Case])] = &[
    (None, states::CASES),
    (None, publish::CASES),
    (None, publish_refused::CASES),
    (None, denials::CASES),
    (None, subscribe::CASES),
    (None, groups::CASES),
    (None, slow::CASES),
    (None, given_up::LIVE),
    (None, withdrawn::LIVE),
    (None, close::CASES),
    (Some(Capability::DurableConsumers), append::CASES),
    (Some(Capability::DurableConsumers), append_refused::CASES),
    (Some(Capability::DurableConsumers), window::CASES),
    (Some(Capability::DurableConsumers), given_up_streams::CASES),
    (Some(Capability::DurableConsumers), withdrawn::STREAMS),
    (Some(Capability::DurableConsumers), consume::CASES),
    (Some(Capability::DurableConsumers), settle::CASES),
    (Some(Capability::DurableConsumers), late::CASES),
    (Some(Capability::DurableConsumers), sharing::CASES),
    (Some(Capability::DurableConsumers), dead::CASES),
    (Some(Capability::DurableConsumers), replay::CASES),
    (Some(Capability::DurableConsumers), work::CASES),
    (Some(Capability::Requests), request::CASES),
    (Some(Capability::Requests), serve::CASES),
    (Some(Capability::Requests), given_up::REQUESTS),
    (Some(Capability::DurableConsumers), administration::CASES),
    (Some(Capability::DurableConsumers), inspect::CASES),
    (Some(Capability::DurableConsumers), read::CASES),
];

/// Every case.
pub(crate) fn all() -> impl Iterator<Item = Case> {
    let groups = GROUPS.iter();
    groups.flat_map(|(port, cases)| cases.iter().map(|case| Case { port: *port, ..*case }))
}
