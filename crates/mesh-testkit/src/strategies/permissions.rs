use mesh_core::permissions::{ModuleGrants, Permissions, Rule, Rules};
use proptest::prelude::*;

use super::{few_events, few_filters, few_modules, few_tools};
use crate::fixtures::group;

/// A side of permissions over the alphabet of [`few_filters`](super::few_filters): nothing,
/// everything, or up to three filters, some for a group only, less up to two.
pub fn rules() -> impl Strategy<Value = Rules> {
    let groups = prop::sample::select(&["g", "h"][..]).prop_map(group);
    let rule = (few_filters(), prop::option::weighted(0.2, groups))
        .prop_map(|(filter, group)| Rule { filter, group });
    let allowed = prop::collection::vec(rule, 1..=3);
    let denied = prop::collection::vec(few_filters(), 0..=2);
    let some = (allowed, denied).prop_map(|(allowed, denied)| Rules::allow(allowed).except(denied));
    prop_oneof![1 => Just(Rules::nothing()), 1 => Just(Rules::everything()), 8 => some]
}

/// Both sides.
pub fn permissions() -> impl Strategy<Value = Permissions> {
    (rules(), rules()).prop_map(|(publish, subscribe)| Permissions {
        publish,
        subscribe,
        responses: None,
    })
}

/// What a manifest may say, in few names.
pub fn module_grants() -> impl Strategy<Value = ModuleGrants> {
    let emits = prop::collection::vec(few_events(), 0..=3);
    let calls = prop::collection::vec((few_modules(), few_tools()), 0..=3);
    let tools = prop::collection::vec(few_tools(), 0..=2);
    (emits, any::<bool>(), calls, tools, any::<bool>()).prop_map(
        |(emits, consumes, calls, tools, provides)| ModuleGrants {
            emits,
            consumes,
            calls,
            tools,
            provides,
        },
    )
}
