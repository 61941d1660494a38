use std::collections::BTreeMap;

use mesh_core::identity::Instance;
use mesh_core::json::{JsonError, JsonText};
use mesh_core::name::{ModuleName, NodeName, ProvisionName};
use mesh_core::provision::{GrantRequest, Granted, ProvisionKey, WithdrawRequest};
use proptest::prelude::*;
use proptest::sample::select;

use super::texts::shallow_json;
use super::{few_modules, few_nodes, json_object, module_name, node_name, provision_name, text};

fn key(
    provision: impl Strategy<Value = ProvisionName>,
    node: impl Strategy<Value = NodeName>,
    module: impl Strategy<Value = ModuleName>,
) -> impl Strategy<Value = ProvisionKey> {
    (provision, node, module).prop_map(|(provision, node, module)| ProvisionKey {
        provision,
        consumer: Instance { node, module },
    })
}

/// What any grant is about.
pub fn provision_key() -> impl Strategy<Value = ProvisionKey> {
    key(provision_name(), node_name(), module_name())
}

/// One of a few keys: two provisions, three modules, three nodes.
pub fn few_provision_keys() -> impl Strategy<Value = ProvisionKey> {
    let provision =
        select(&["database", "queue"][..]).prop_filter_map("never", |name| name.parse().ok());
    key(provision, few_nodes(), few_modules())
}

/// Any request for a grant.
pub fn grant_request() -> impl Strategy<Value = GrantRequest> {
    (provision_key(), json_object())
        .prop_filter_map("never", |(key, contributed)| GrantRequest::new(key, contributed).ok())
}

/// Any request for a withdrawal.
pub fn withdraw_request() -> impl Strategy<Value = WithdrawRequest> {
    provision_key().prop_map(WithdrawRequest::new)
}

/// What a provider grants, and the fields that it promised.
pub fn granted() -> impl Strategy<Value = (Granted, Vec<String>)> {
    let fields = prop::collection::btree_map(text(1..=8), shallow_json(), 0..=4);
    fields.prop_filter_map("never", |fields| {
        let fields = fields.into_iter();
        let fields = fields.map(|(name, value)| Ok((name, JsonText::new(value.to_string())?)));
        let fields: BTreeMap<_, _> = fields.collect::<Result<_, JsonError>>().ok()?;
        let promised: Vec<String> = fields.keys().cloned().collect();
        Some((Granted::new(fields, &promised).ok()?, promised))
    })
}
