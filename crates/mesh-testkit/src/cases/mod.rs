//! The cases, one file a group. Each is named after the bullet that it proves.

mod administration;
mod append;
mod append_refused;
mod close;
mod consume;
mod dead;
mod desk;
mod groups;
mod publish;
mod publish_refused;
mod read;
mod request;
mod serve;
mod settle;
mod sharing;
mod slow;
mod states;
mod subscribe;
mod work;

use mesh_core::port::Capability;

use crate::suite::Case;

/// Each group, with the capability that its port hangs on.
const GROUPS: &[(Option<Capability>, &[Case])] = &[
    (None, states::CASES),
    (None, publish::CASES),
    (None, publish_refused::CASES),
    (None, subscribe::CASES),
    (None, groups::CASES),
    (None, slow::CASES),
    (None, close::CASES),
    (Some(Capability::DurableConsumers), append::CASES),
    (Some(Capability::DurableConsumers), append_refused::CASES),
    (Some(Capability::DurableConsumers), consume::CASES),
    (Some(Capability::DurableConsumers), settle::CASES),
    (Some(Capability::DurableConsumers), sharing::CASES),
    (Some(Capability::DurableConsumers), dead::CASES),
    (Some(Capability::DurableConsumers), work::CASES),
    (Some(Capability::Requests), request::CASES),
    (Some(Capability::Requests), serve::CASES),
    (Some(Capability::DurableConsumers), administration::CASES),
    (Some(Capability::DurableConsumers), read::CASES),
];

/// Every case.
pub(crate) fn all() -> impl Iterator<Item = Case> {
    let groups = GROUPS.iter();
    groups.flat_map(|(port, cases)| cases.iter().map(|case| Case { port: *port, ..*case }))
}
