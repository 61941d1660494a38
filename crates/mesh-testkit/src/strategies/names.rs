use mesh_core::identity::Principal;
use mesh_core::name::{
    CommandName, ConsumerName, EventName, InstanceName, ModuleName, NodeName, PersonName,
    ProvisionName, RealmName, TokenId, ToolName,
};
use mesh_core::port::QueueGroup;
use proptest::prelude::*;

const LABEL: &str = "[a-z0-9][a-z0-9-]{0,7}|[a-z0-9][a-z0-9-]{0,62}";
const WORD: &str = "[A-Za-z0-9][A-Za-z0-9_-]{0,7}|[A-Za-z0-9][A-Za-z0-9_-]{0,62}";

/// What `check` makes of texts of this shape; those it refuses, reserved or too long, are drawn again.
fn checked<T, E>(
    shape: impl Strategy<Value = String>,
    check: fn(String) -> Result<T, E>,
) -> impl Strategy<Value = T>
where
    T: std::fmt::Debug,
{
    shape.prop_filter_map("reserved or too long", move |text| check(text).ok())
}

/// One of these literals.
fn one_of<T, E>(
    texts: &'static [&'static str],
    check: fn(String) -> Result<T, E>,
) -> impl Strategy<Value = T>
where
    T: std::fmt::Debug,
{
    checked(prop::sample::select(texts).prop_map(str::to_owned), check)
}

/// Any node's name.
pub fn node_name() -> impl Strategy<Value = NodeName> {
    checked(LABEL, NodeName::new)
}

/// One of three nodes.
pub fn few_nodes() -> impl Strategy<Value = NodeName> {
    one_of(&["n1", "n2", "edge"], NodeName::new)
}

/// Any module's name.
pub fn module_name() -> impl Strategy<Value = ModuleName> {
    checked(LABEL, ModuleName::new)
}

/// One of three modules.
pub fn few_modules() -> impl Strategy<Value = ModuleName> {
    one_of(&["mail", "crm", "shop"], ModuleName::new)
}

/// Any person's name.
pub fn person_name() -> impl Strategy<Value = PersonName> {
    checked(LABEL, PersonName::new)
}

/// Any tool's name.
pub fn tool_name() -> impl Strategy<Value = ToolName> {
    checked(WORD, ToolName::new)
}

/// One of three tools.
pub fn few_tools() -> impl Strategy<Value = ToolName> {
    one_of(&["send", "read", "provision_grant"], ToolName::new)
}

/// Any command's name.
pub fn command_name() -> impl Strategy<Value = CommandName> {
    checked(WORD, CommandName::new)
}

/// Any event's name: one to four tokens.
pub fn event_name() -> impl Strategy<Value = EventName> {
    let tokens = prop::collection::vec(WORD, 1..=4);
    checked(tokens.prop_map(|tokens| tokens.join(".")), EventName::new)
}

/// One of four events, one below another.
pub fn few_events() -> impl Strategy<Value = EventName> {
    one_of(&["sold", "sold.out", "left", "a"], EventName::new)
}

/// Any name of a controller or a gateway.
pub fn instance_name() -> impl Strategy<Value = InstanceName> {
    checked(LABEL, InstanceName::new)
}

/// Any name of something that is provided.
pub fn provision_name() -> impl Strategy<Value = ProvisionName> {
    checked(LABEL, ProvisionName::new)
}

/// Any enrolment token's id.
pub fn token_id() -> impl Strategy<Value = TokenId> {
    checked(LABEL, TokenId::new)
}

/// Any realm's name: one to four labels of any script.
pub fn realm_name() -> impl Strategy<Value = RealmName> {
    let plain = "[a-z]{1,8}(\\.[a-z]{2,5}){0,2}";
    let wide = "[^\\s\\p{C}./*>#%]{1,12}(\\.[^\\s\\p{C}./*>#%]{1,6}){0,3}";
    checked(prop_oneof![plain, wide], RealmName::new)
}

/// A module's consumer, or the one consumer of a stream.
pub fn consumer_name() -> impl Strategy<Value = ConsumerName> {
    let of_module = (node_name(), module_name())
        .prop_map(|(node, module)| ConsumerName::of_module(&node, &module));
    let of_node = node_name().prop_map(|node| ConsumerName::of_node(&node));
    let fixed = one_of(&["controller", "builder"], ConsumerName::new);
    prop_oneof![3 => of_module, 1 => of_node, 1 => fixed]
}

/// Any queue group.
pub fn queue_group() -> impl Strategy<Value = QueueGroup> {
    checked("[A-Za-z0-9_-]{1,127}", QueueGroup::new)
}

/// Any principal.
pub fn principal() -> impl Strategy<Value = Principal> {
    prop_oneof![
        4 => (node_name(), module_name())
            .prop_map(|(node, module)| Principal::Module { node, module }),
        1 => node_name().prop_map(|node| Principal::Host { node }),
        1 => node_name().prop_map(|node| Principal::Builder { node }),
        1 => person_name().prop_map(|name| Principal::Person { name }),
        1 => instance_name().prop_map(|name| Principal::Controller { name }),
        1 => token_id().prop_map(|token| Principal::Enrolment { token }),
        1 => instance_name().prop_map(|name| Principal::Gateway { name }),
    ]
}
