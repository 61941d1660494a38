//! Proptest strategies. Each gives values that are valid by construction, and comes wide, for finding
//! what a parser forgets, or `few_…`, from an alphabet so small that values meet: match, collide,
//! repeat. `…_spelt` gives a value with one of the texts that mean it.

mod bindings;
mod credentials;
mod damage;
mod differential;
mod envelopes;
mod events;
mod internal;
mod legacy;
mod manifests;
mod meshes;
mod messages;
mod names;
mod operations;
mod permissions;
mod provisions;
mod subjects;
mod texts;
mod toml_text;
mod topologies;
mod uris;

pub use bindings::{binding_pattern, few_bindings};
pub use credentials::{
    bootstrap_document, broker_host, broker_url, credential, enrolment_token, fingerprint,
    fingerprint_spelt, fingerprints, login,
};
pub use damage::mutated_bytes;
pub use differential::{lapsing_steps, live_step, live_steps, step, steps};
pub use envelopes::{envelope, fault, few_envelopes, msg_type, mx_principal};
pub use events::{event, event_id, extra_headers, few_event_ids, trace_context};
pub use internal::internal_request;
pub use legacy::{legacy_event, legacy_reply, legacy_request, mailbox_bytes};
pub use manifests::{event_pattern, few_patterns, mesh_file, module_manifest};
pub use meshes::{MeshText, mesh};
pub use messages::{few_messages, header_name, header_value, headers, message, publish_id};
pub use names::{
    command_name, consumer_name, event_name, few_events, few_modules, few_nodes, few_tools,
    instance_name, module_name, node_name, person_name, principal, provision_name, queue_group,
    realm_name, token_id, tool_name,
};
pub use operations::{operation, operations};
pub use permissions::{module_grants, permissions, rules};
pub use provisions::{few_provision_keys, grant_request, granted, provision_key, withdraw_request};
pub use subjects::{few_filters, few_subjects, filter, filter_around, subject};
pub use texts::{json_object, json_text, raw_json, text, timestamp};
pub use toml_text::TomlText;
pub use topologies::{consumer_ref, stream_name, topology};
pub use uris::{
    accepts_path, emits_path, few_paths, mx_path, mx_uri, mx_uri_forms, mx_uri_spelt, plane,
};
