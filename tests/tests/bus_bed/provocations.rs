//! For each row of genesis' table what somebody does by hand, and how genesis ends with it.

use mesh_control::genesis::Of;
use serde_json::{Value, json};

/// How genesis ends with a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It is put right.
    Mended,
    /// It is left, and put right for who accepts it.
    Asked,
    /// It is left, whatever is accepted.
    Stuck,
}

/// What somebody does.
#[derive(Debug, Clone)]
pub enum Deed {
    /// Changes what is there.
    Change(Value),
    /// Deletes it, and makes it otherwise.
    Remake(Value),
}

#[derive(Debug, Clone)]
pub struct Provocation {
    pub of: Of,
    /// The object, of which a stream keeps three messages.
    pub object: &'static str,
    pub field: &'static str,
    pub deed: Deed,
    pub end: End,
}

/// Rows that one server alone can't be brought to differ in.
pub const NEEDS_A_CLUSTER: &str = "num_replicas";

pub fn provocations() -> Vec<Provocation> {
    use Deed::{Change, Remake};
    use End::{Asked, Mended, Stuck};
    let events =
        |field, deed, end| Provocation { of: Of::Stream, object: "EVENTS", field, deed, end };
    let nodes =
        |field, deed, end| Provocation { of: Of::Stream, object: "NODES", field, deed, end };
    let mail = |field, deed, end| Provocation {
        of: Of::Consumer,
        object: "EVENTS/n1_mail",
        field,
        deed,
        end,
    };
    let old = json!({ "discard": "old", "discard_new_per_subject": false });
    let with_old = |more: Value| {
        let mut all = old.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let day = 86_400_000_000_000_u64;
    vec![
        events("subjects", Change(json!({ "subjects": ["mesh.events.*.>", "other.>"] })), Asked),
        events("retention", Remake(json!({ "retention": "interest" })), Stuck),
        events("storage", Remake(json!({ "storage": "memory", "max_bytes": 1_000_000 })), Stuck),
        events("discard", Change(old.clone()), Asked),
        events(
            "discard_new_per_subject",
            Change(json!({ "discard_new_per_subject": false })),
            Asked,
        ),
        nodes(
            "discard_new_per_subject",
            Change(json!({ "discard_new_per_subject": false })),
            Asked,
        ),
        events("max_bytes", Change(json!({ "max_bytes": 1_000_000 })), Mended),
        events("max_bytes", Change(json!({ "max_bytes": -1 })), Mended),
        events("max_age", Change(json!({ "max_age": day })), Mended),
        events("max_age", Change(json!({ "max_age": 0 })), Mended),
        events("max_consumers", Change(json!({ "max_consumers": 7 })), Mended),
        events("max_consumers", Change(json!({ "max_consumers": -1 })), Mended),
        events("max_messages_per_subject", Change(json!({ "max_msgs_per_subject": 10 })), Mended),
        events(
            "max_messages_per_subject",
            Change(json!({ "max_msgs_per_subject": 5_000_000 })),
            Mended,
        ),
        events("max_messages", Change(json!({ "max_msgs": 10 })), Mended),
        events("max_message_bytes", Change(json!({ "max_msg_size": 100 })), Mended),
        events("max_message_bytes", Change(json!({ "max_msg_size": -1 })), Mended),
        events(
            "deduplication_window",
            Change(json!({ "duplicate_window": 1_000_000_000 })),
            Mended,
        ),
        events("no_ack", Change(json!({ "no_ack": true })), Mended),
        events("sealed", Change(json!({ "sealed": true })), Stuck),
        events("deny_purge", Remake(json!({ "deny_purge": false })), Mended),
        nodes(
            "deny_purge",
            Change(json!({ "deny_purge": true, "allow_rollup_hdrs": false })),
            Stuck,
        ),
        events(
            "allow_rollup_hdrs",
            Remake(json!({ "deny_purge": false, "allow_rollup_hdrs": true })),
            Mended,
        ),
        nodes("allow_rollup_hdrs", Change(json!({ "allow_rollup_hdrs": false })), Mended),
        nodes(
            "allow_rollup_hdrs",
            Change(json!({ "deny_purge": true, "allow_rollup_hdrs": false })),
            Stuck,
        ),
        events("allow_direct", Change(json!({ "allow_direct": true })), Mended),
        events("allow_msg_ttl", Remake(json!({ "allow_msg_ttl": true })), Stuck),
        events(
            "subject_delete_marker_ttl",
            Remake(json!({
                "allow_msg_ttl": true, "subject_delete_marker_ttl": 2_000_000_000_u64,
                "allow_rollup_hdrs": true, "deny_purge": false,
            })),
            Mended,
        ),
        events("allow_atomic", Change(json!({ "allow_atomic": true })), Mended),
        events("allow_batched", Change(json!({ "allow_batched": true })), Mended),
        events("allow_msg_counter", Remake(with_old(json!({ "allow_msg_counter": true }))), Stuck),
        events(
            "allow_msg_schedules",
            Remake(with_old(json!({ "allow_msg_schedules": true }))),
            Stuck,
        ),
        events("persist_mode", Remake(json!({ "persist_mode": "async" })), Stuck),
        events(
            "mirror",
            Remake(json!({
                "subjects": null, "mirror": { "name": "NODES" }, "discard": "old",
                "discard_new_per_subject": false, "duplicate_window": null,
            })),
            Stuck,
        ),
        events("sources", Change(json!({ "sources": [{ "name": "ELSEWHERE" }] })), Mended),
        events(
            "subject_transform",
            Change(json!({
                "subject_transform": { "src": "mesh.events.shop.>", "dest": "mesh.events.x.>" },
            })),
            Mended,
        ),
        events(
            "republish",
            Change(json!({ "republish": { "src": ">", "dest": "copy.>" } })),
            Mended,
        ),
        events(
            "consumer_limits",
            Change(json!({ "consumer_limits": { "max_ack_pending": 5000 } })),
            Mended,
        ),
        mail("deliver_from", Remake(json!({ "deliver_policy": "all" })), Stuck),
        mail("ack_policy", Remake(json!({ "ack_policy": "all" })), Stuck),
        mail("replay_policy", Remake(json!({ "replay_policy": "original" })), Stuck),
        mail(
            "durable_name",
            Remake(json!({ "durable_name": null, "inactive_threshold": 3_600_000_000_000_u64 })),
            Stuck,
        ),
        mail(
            "inactive_threshold",
            Change(json!({ "inactive_threshold": 3_600_000_000_000_u64 })),
            Mended,
        ),
        mail(
            "inactive_threshold",
            Remake(json!({ "durable_name": null, "inactive_threshold": 3_600_000_000_000_u64 })),
            Stuck,
        ),
        mail("deliver_subject", Change(json!({ "deliver_subject": "elsewhere.a" })), Mended),
        mail("shared", Change(json!({ "deliver_group": "another" })), Mended),
        mail("filters", Change(json!({ "filter_subjects": ["mesh.events.shop.>"] })), Mended),
        mail("backoff", Change(json!({ "backoff": [1_000_000_000, 2_000_000_000] })), Mended),
        mail("ack_wait", Change(json!({ "ack_wait": 1_000_000_000 })), Mended),
        mail("max_deliver", Change(json!({ "max_deliver": -1 })), Mended),
        mail("max_ack_pending", Change(json!({ "max_ack_pending": 1 })), Mended),
        mail(
            "flow_control",
            Remake(json!({ "flow_control": true, "idle_heartbeat": 1_000_000_000 })),
            Stuck,
        ),
        mail("idle_heartbeat", Remake(json!({ "idle_heartbeat": 1_000_000_000 })), Stuck),
        mail("headers_only", Change(json!({ "headers_only": true })), Mended),
        mail("rate_limit_bps", Change(json!({ "rate_limit_bps": 1_000_000 })), Mended),
        mail("sample_freq", Change(json!({ "sample_freq": "100%" })), Mended),
        mail("mem_storage", Remake(json!({ "mem_storage": true })), Stuck),
        mail("num_replicas", Change(json!({ "num_replicas": 1 })), Mended),
    ]
}
