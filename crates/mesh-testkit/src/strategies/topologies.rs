use std::time::Duration;

use mesh_core::name::{ModuleName, NodeName};
use mesh_core::subject::Filter;
use mesh_core::topology::{ConsumerRef, StreamName, Topology};
use proptest::prelude::*;

use super::{consumer_name, few_modules, few_nodes};
use crate::fixtures::{filter, with_stream};

/// Any stream.
pub fn stream_name() -> impl Strategy<Value = StreamName> {
    prop::sample::select(&StreamName::ALL[..])
}

/// Any consumer of any stream.
pub fn consumer_ref() -> impl Strategy<Value = ConsumerRef> {
    (stream_name(), consumer_name())
        .prop_map(|(stream, consumer)| ConsumerRef::new(stream, consumer))
}

type Consuming = (NodeName, ModuleName, Vec<Filter>);

/// Some module on some node, with one to three filters over `<module>.<event>`.
fn consuming() -> impl Strategy<Value = Consuming> {
    let filters = ["shop.>", "shop.sold", "shop.*", "*.left", "crm.a", "mail.sold.out"];
    let filters = prop::sample::subsequence(filters.map(filter).to_vec(), 1..=3);
    (few_nodes(), few_modules(), filters)
}

/// A topology of up to three nodes and four consuming modules, perhaps without a stream, perhaps
/// with another limit: two of them often differ in a little, as when drift is looked for.
pub fn topology() -> impl Strategy<Value = Topology> {
    let nodes = prop::collection::vec(few_nodes(), 0..=3);
    let modules = prop::collection::vec(consuming(), 0..=4);
    let absent = prop::option::weighted(0.2, stream_name());
    let limit = prop::option::weighted(0.5, (stream_name(), 1..=64_u64, 1..=48_u64));
    (nodes, modules, limit, absent).prop_filter_map("never", |(nodes, modules, limit, absent)| {
        let mut topology = Topology::new();
        for node in &nodes {
            topology = topology.with_node(node);
        }
        for (node, module, filters) in &modules {
            topology = topology.with_module(node, module, filters).ok()?;
        }
        if let Some((name, mebibytes, hours)) = limit {
            topology = with_stream(topology, name, |stream| {
                stream.max_bytes = mebibytes * 1024 * 1024;
                stream.max_age = Some(Duration::from_secs(hours * 3600));
            });
        }
        if let Some(name) = absent {
            topology = topology.without_stream(name);
        }
        Some(topology)
    })
}
