//! Proptest strategies. Each gives values that are valid by construction, and comes wide, for finding
//! what a parser forgets, or `few_…`, from an alphabet so small that values meet: match, collide,
//! repeat.

mod messages;
mod names;
mod operations;
mod permissions;
mod subjects;
mod topologies;

pub use messages::{few_messages, header_name, header_value, headers, message, publish_id};
pub use names::{
    command_name, consumer_name, event_name, few_events, few_modules, few_nodes, few_tools,
    instance_name, module_name, node_name, person_name, principal, provision_name, queue_group,
    realm_name, token_id, tool_name,
};
pub use operations::{operation, operations};
pub use permissions::{module_grants, permissions, rules};
pub use subjects::{few_filters, few_subjects, filter, filter_around, subject};
pub use topologies::{consumer_ref, stream_name, topology};
