//! What a topology means as settings of the server (protocol §2, §4).

use std::fmt;
use std::time::Duration;

use mesh_core::port::{ErrorKind, Operation, QueueGroup, TransportError};
use mesh_core::subject::{Filter, normalise};
use mesh_core::topology::{ConsumerSpec, DeliverFrom, DeliverySubject, Retention, StreamSpec};

use super::StreamSettings;
use super::setting::{Config, Setting};

/// The settings of a stream, those that others depend on first.
///
/// A full stream refuses what is new, in each subject as in the whole: with `discard: new` alone the
/// server still drops the oldest of a subject that has too many. Nobody may purge one: a purge is asked
/// for by an empty message, which a settlement makes the server send to any subject (protocol §4). Only
/// `NODES` allows it, since a roll-up needs it. Single messages can be erased, by an explicit request.
pub(super) fn stream(
    spec: &StreamSpec,
    settings: &StreamSettings,
) -> Result<Vec<Setting>, TransportError> {
    let newest = spec.retention == Retention::NewestPerSubject;
    let of = Numbers { object: &spec.name };
    let per_subject = if newest { Some(1) } else { spec.max_messages_per_subject };
    let per_subject = of.limit("max_messages_per_subject", per_subject)?;
    let retention = if spec.retention == Retention::WorkQueue { "workqueue" } else { "limits" };
    let max_message_bytes = match spec.max_message_bytes {
        // The server holds it in 32 bits.
        Some(bytes) => Some(of.number("max_message_bytes", i32::try_from(bytes).ok())?),
        None => None,
    };
    let max_age = spec.max_age.map(|age| of.span("max_age", age)).transpose()?.unwrap_or(0);
    Ok(vec![
        Setting::set("subjects", texts(&spec.subjects)),
        Setting::word("retention", retention, "limits").fixed(),
        Setting::span("max_age", max_age),
        Setting::span(
            "duplicate_window",
            of.span("deduplication_window", spec.deduplication_window)?,
        )
        .called("deduplication_window"),
        Setting::word(DISCARD, "new", "old"),
        Setting::limit(MAX_BYTES, of.limit("max_bytes", Some(spec.max_bytes))?),
        Setting::limit("max_msgs", None).called("max_messages"),
        Setting::limit(MAX_PER_SUBJECT, per_subject).called("max_messages_per_subject"),
        Setting::flag("discard_new_per_subject", per_subject.is_some()),
        Setting::limit("max_msg_size", max_message_bytes).called("max_message_bytes"),
        Setting::limit(
            "max_consumers",
            of.limit("max_consumers", Some(spec.max_consumers.into()))?,
        ),
        Setting::word("storage", "file", "").fixed(),
        Setting::count("num_replicas", settings.replicas, 1),
        Setting::flag("no_ack", false),
        Setting::flag("sealed", false),
        Setting::flag("deny_purge", !newest),
        Setting::flag("allow_rollup_hdrs", newest),
        Setting::flag("allow_direct", false),
        Setting::flag("allow_msg_ttl", false),
        Setting::nothing("subject_delete_marker_ttl"),
        Setting::flag("allow_atomic", false),
        Setting::flag("allow_batched", false),
        Setting::flag("allow_msg_counter", false),
        Setting::flag("allow_msg_schedules", false),
        Setting::word("persist_mode", "default", "default"),
        Setting::nothing("mirror"),
        Setting::nothing("sources"),
        Setting::nothing("subject_transform"),
        Setting::nothing("republish"),
        Setting::nothing("consumer_limits"),
    ])
}

/// The settings of a consumer: pushed, explicit, no flow control. Each of its readers needs then no
/// right but its delivery subject and its acknowledgements.
pub(super) fn consumer(spec: &ConsumerSpec) -> Result<Vec<Setting>, TransportError> {
    let rules = &spec.rules;
    let of = Numbers { object: &spec.reference };
    let deliver_policy = match spec.deliver_from {
        DeliverFrom::All => "all",
        DeliverFrom::New => "new",
        DeliverFrom::LastPerSubject => "last_per_subject",
    };
    let group = rules.shared.then(|| QueueGroup::of_consumer(&spec.reference.consumer));
    let group = group.as_ref().map_or("", QueueGroup::as_str);
    let name = spec.reference.consumer.as_str();
    let deliver_subject = DeliverySubject::of(spec.reference.clone()).to_subject();
    let max_ack_pending = i64::try_from(rules.max_ack_pending).ok();
    Ok(vec![
        Setting::word(DURABLE_NAME, name, "").fixed(),
        Setting::word(DELIVER_SUBJECT, deliver_subject.as_str(), ""),
        Setting::word(DELIVER_GROUP, group, "").called("shared"),
        Setting::word("deliver_policy", deliver_policy, "all").called("deliver_from").fixed(),
        Setting::word("ack_policy", "explicit", "none").fixed(),
        Setting::word("replay_policy", "instant", "instant").fixed(),
        Setting::set("filter_subjects", texts(&normalise(spec.filters.clone()))).called("filters"),
        Setting::nothing("backoff"),
        Setting::span("ack_wait", of.span("ack_wait", rules.ack_wait)?),
        Setting::limit("max_deliver", of.limit("max_deliver", rules.max_deliver.map(u64::from))?),
        Setting::limit("max_ack_pending", Some(of.number("max_ack_pending", max_ack_pending)?)),
        Setting::flag("flow_control", false),
        Setting::span("idle_heartbeat", 0),
        Setting::flag("headers_only", false),
        Setting::nothing("rate_limit_bps"),
        Setting::nothing("sample_freq"),
        Setting::span(INACTIVE_THRESHOLD, 0),
        Setting::flag("mem_storage", false),
        Setting::count("num_replicas", 0, 0),
    ])
}

/// The most bytes that a stream of this configuration keeps, if it has a limit.
pub(super) fn max_bytes(config: &Config) -> Option<u64> {
    config.get(MAX_BYTES)?.as_u64().filter(|bytes| *bytes > 0)
}

// Settings that are mended with care.
pub(super) const DISCARD: &str = "discard";
pub(super) const MAX_BYTES: &str = "max_bytes";
pub(super) const MAX_PER_SUBJECT: &str = "max_msgs_per_subject";
pub(super) const DURABLE_NAME: &str = "durable_name";
pub(super) const DELIVER_SUBJECT: &str = "deliver_subject";
pub(super) const DELIVER_GROUP: &str = "deliver_group";
pub(super) const INACTIVE_THRESHOLD: &str = "inactive_threshold";

fn texts(filters: &[Filter]) -> impl Iterator<Item = String> {
    filters.iter().map(ToString::to_string)
}

/// Numbers as the server takes them. 0 is refused: to the server it means no limit, or its own default.
struct Numbers<'a> {
    object: &'a dyn fmt::Display,
}

impl Numbers<'_> {
    fn number<N: Into<i64>>(
        &self,
        field: &'static str,
        number: Option<N>,
    ) -> Result<i64, TransportError> {
        match number.map(Into::into) {
            Some(number) if number > 0 => Ok(number),
            Some(_) => Err(self.refused(format!("{field} is 0"))),
            None => Err(self.refused(format!("{field} is more than a server can hold"))),
        }
    }

    fn limit(
        &self,
        field: &'static str,
        limit: Option<u64>,
    ) -> Result<Option<i64>, TransportError> {
        limit.map(|limit| self.number(field, i64::try_from(limit).ok())).transpose()
    }

    /// In nanoseconds.
    fn span(&self, field: &'static str, span: Duration) -> Result<i64, TransportError> {
        self.number(field, i64::try_from(span.as_nanos()).ok())
    }

    fn refused(&self, detail: String) -> TransportError {
        let error = TransportError::new(ErrorKind::Invalid, Operation::Assert);
        error.about(self.object.to_string()).detail(detail)
    }
}
