//! What may be put right in place, and what an operator has to decide: as data.

/// What a difference is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a broker holds nothing else")]
pub enum Of {
    /// A stream.
    Stream,
    /// A consumer.
    Consumer,
}

/// How a difference in one setting is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is a row of a table")]
pub struct Rule {
    /// Of what.
    pub of: Of,
    /// The setting, as a [`Drift`](mesh_core::port::Drift) names it.
    pub field: &'static str,
    /// What is done about it.
    pub care: Care,
}

/// What is done about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "whoever treats a difference decides on each")]
pub enum Care {
    /// Put right: nothing that is stored is lost or comes in another order by it, and who is refused more
    /// by it may not have what is refused. Where the broker does not do it all the same, `left` says what
    /// to do.
    Safe {
        /// What to do where the broker leaves it.
        left: &'static str,
    },
    /// Put right, unless the limit would be below what is stored.
    NotBelow(Stock),
    /// Put right only for an operator who accepts what comes of it.
    Ask {
        /// What comes of it.
        why: &'static str,
        /// What to do before it is accepted.
        then: &'static str,
    },
    /// Never: no broker changes it in what is there.
    Fixed {
        /// What it would mean.
        why: &'static str,
        /// What to do instead.
        then: &'static str,
    },
}

/// What a limit is compared with before it is lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "whoever looks has to look at each")]
pub enum Stock {
    /// The bytes that are stored.
    Bytes,
    /// How old the oldest message is.
    Age,
    /// How many consumers there are.
    Consumers,
    /// How many messages each subject has: the broker's adapter looks, and leaves the limit where one has
    /// more.
    OfASubject,
}

const ANEW: &str = "stop who writes to the stream, let its consumers settle what it keeps, delete it by hand and \
     run genesis again; what it still keeps then is gone";
const NEW_CONSUMER: &str = "let it settle what it owes, `mesh bus genesis --retire` it, and run genesis again: it is \
     made anew, and begins where its stream's kind says";
const UNREAD: &str =
    "end whoever reads it, and run genesis again: the server changes that only while nobody reads";
const HAND: &str =
    "the server did not take the change: look at the stream by hand, and at the server's log";
const QUEUE: &str = "let the queue be emptied, delete it by hand, and run genesis again";

const fn stream(field: &'static str, care: Care) -> Rule {
    Rule { of: Of::Stream, field, care }
}

const fn consumer(field: &'static str, care: Care) -> Rule {
    Rule { of: Of::Consumer, field, care }
}

const SAFE: Care = Care::Safe { left: HAND };

/// The table: each setting that a mesh cares about. A setting that is not here is never put right, since
/// nobody has judged what that does.
pub const RULES: &[Rule] = &[
    stream(
        "subjects",
        Care::Ask {
            why: "who publishes to a subject that goes is refused from then on, and what is stored of it is read \
                  by nobody who asks for a subject that the mesh has",
            then: "see by `mesh bus status` that nothing is owed",
        },
    ),
    stream(
        "retention",
        Care::Fixed {
            why: "it decides when messages are let go: another would delete what is kept, or keep what is done",
            then: ANEW,
        },
    ),
    stream(
        "storage",
        Care::Fixed {
            why: "what is stored would have to move between memory and disk",
            then: ANEW,
        },
    ),
    stream(
        "discard",
        Care::Ask {
            why: "a stream that is full now drops its oldest, so some may be lost already; from then on it \
                  refuses who appends",
            then: "see by `mesh bus status` that it is not full",
        },
    ),
    stream(
        "discard_new_per_subject",
        Care::Ask {
            why: "a subject that is full now drops its oldest, so some may be lost already; from then on it \
                  refuses who appends",
            then: "see that what the subject's newest message says is meant: anybody's plain publish could take its \
                   place until now",
        },
    ),
    stream("max_bytes", Care::NotBelow(Stock::Bytes)),
    stream("max_age", Care::NotBelow(Stock::Age)),
    stream("max_consumers", Care::NotBelow(Stock::Consumers)),
    stream("max_messages_per_subject", Care::NotBelow(Stock::OfASubject)),
    // The mesh has no limit of these, so it can only be raised.
    stream("max_messages", SAFE),
    stream("max_message_bytes", SAFE),
    stream("deduplication_window", SAFE),
    stream(
        "num_replicas",
        Care::Safe {
            left: "see that the cluster has as many servers with JetStream, and room on them",
        },
    ),
    stream("no_ack", SAFE),
    stream(
        "sealed",
        Care::Fixed {
            why: "a sealed stream takes nothing any more, and is never opened again",
            then: ANEW,
        },
    ),
    stream(
        "deny_purge",
        Care::Safe {
            left: "a denied purge is never allowed again, and without it NODES takes no roll-up: delete the \
                   stream by hand and run genesis again; a new epoch begins, and every declaration is published anew",
        },
    ),
    stream(
        "allow_rollup_hdrs",
        Care::Safe {
            left: "it needs a purge that is not denied: see what is said of `deny_purge`",
        },
    ),
    stream("allow_direct", SAFE),
    stream(
        "allow_msg_ttl",
        Care::Fixed {
            why: "messages that delete themselves stay allowed once they are",
            then: ANEW,
        },
    ),
    stream("subject_delete_marker_ttl", SAFE),
    stream("allow_atomic", SAFE),
    stream("allow_batched", SAFE),
    stream("allow_msg_counter", Care::Fixed { why: "a counter keeps no messages", then: ANEW }),
    stream(
        "allow_msg_schedules",
        Care::Fixed { why: "schedules stay allowed once they are", then: ANEW },
    ),
    stream(
        "persist_mode",
        Care::Fixed { why: "what was confirmed may not be on the disk yet", then: ANEW },
    ),
    stream(
        "mirror",
        Care::Fixed { why: "a mirror takes nothing but another stream's messages", then: ANEW },
    ),
    stream("sources", SAFE),
    stream("subject_transform", SAFE),
    stream("republish", SAFE),
    stream("consumer_limits", SAFE),
    consumer(
        "deliver_from",
        Care::Fixed {
            why: "from another place it would deliver what was settled already, or leave out what is owed",
            then: NEW_CONSUMER,
        },
    ),
    consumer(
        "ack_policy",
        Care::Fixed { why: "what counts as settled would be another thing", then: NEW_CONSUMER },
    ),
    consumer(
        "replay_policy",
        Care::Fixed { why: "the server changes it in no consumer", then: NEW_CONSUMER },
    ),
    consumer(
        "durable_name",
        Care::Fixed {
            why: "it goes, with what it owes, when nobody has read it for a while",
            then: NEW_CONSUMER,
        },
    ),
    consumer(
        "inactive_threshold",
        Care::Safe { left: "one that does not last keeps it: see what is said of `durable_name`" },
    ),
    consumer("deliver_subject", Care::Safe { left: UNREAD }),
    consumer("shared", Care::Safe { left: UNREAD }),
    // What a module no longer consumes it is no longer owed: its manifest says so.
    consumer("filters", SAFE),
    consumer("backoff", SAFE),
    consumer("ack_wait", SAFE),
    consumer("max_deliver", SAFE),
    consumer("max_ack_pending", SAFE),
    consumer("flow_control", Care::Safe { left: NEW_CONSUMER }),
    consumer("idle_heartbeat", Care::Safe { left: NEW_CONSUMER }),
    consumer("headers_only", SAFE),
    consumer("rate_limit_bps", SAFE),
    consumer("sample_freq", SAFE),
    consumer("mem_storage", Care::Safe { left: NEW_CONSUMER }),
    consumer("num_replicas", SAFE),
];

/// What is done about a difference in `field` of such an object.
#[must_use]
pub fn care(of: Of, field: &str) -> Care {
    let mut rules = RULES.iter();
    if let Some(rule) = rules.find(|rule| rule.of == of && rule.field == field) {
        return rule.care;
    }
    // RabbitMQ's own: an argument of a queue, or a property of a queue or an exchange.
    let queue = ["durable", "auto_delete", "exclusive", "internal", "type"];
    if field.starts_with("x-") || queue.contains(&field) {
        return Care::Fixed { why: "RabbitMQ changes no queue that is there", then: QUEUE };
    }
    Care::Fixed {
        why: "nobody has judged what changing it does",
        then: "look at it by hand, with the server's own tools",
    }
}
