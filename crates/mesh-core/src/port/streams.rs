use std::fmt;

use async_trait::async_trait;

use super::{AppendOptions, ConsumeOptions, Delivery, Incoming, TransportError};
use crate::message::Message;
use crate::topology::{ConsumerRef, StreamName};

/// What a durable consumer is given, to be settled one by one.
pub type Deliveries = Incoming<Delivery>;

/// What the broker says of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "adapters build it")]
pub struct Appended {
    /// The stream that keeps it.
    pub stream: StreamName,
    /// Its number there, from 1 ([`Sequences`](super::Capability::Sequences)).
    pub sequence: Option<u64>,
    /// The broker had a message of this id already and kept that one.
    pub duplicate: bool,
}

/// What must not be lost: kept by the broker until each consumer has settled it.
///
/// Which stream takes a subject, how long it keeps it and how many tries a delivery has is the
/// [`Topology`](crate::topology::Topology)'s to say. A module declares nothing.
#[async_trait]
pub trait Streams: Send + Sync + fmt::Debug {
    /// Appends one message to the stream of its subject. Returns when the broker has it.
    ///
    /// - `append_returns_when_the_broker_has_it`: a consumer read afterwards, by a connection made
    ///   afterwards, delivers it. \[`DurableConsumers`, else `Unsupported`]
    /// - `append_keeps_the_whole_message`: payload and headers as on `publish`.
    /// - `append_without_a_stream_is_not_found`: a subject that no stream takes.
    /// - `append_counts_up`: sequences rise from 1 within a stream. \[`Sequences`]
    /// - `append_checks_the_expected_sequence`: another last sequence of this subject is
    ///   `Conflict`, and nothing is stored; or, of an id that is known too, a duplicate, as the broker
    ///   likes. So after a `Conflict` read what is there: it may be this very append, sent again by the
    ///   transport. \[`Sequences`, else `Unsupported`]
    /// - `append_of_a_known_id_is_a_duplicate`: stored once; both calls name the same sequence.
    ///   \[`Deduplication`, else `Unsupported` where it is required]
    /// - `append_of_an_id_after_its_window_is_stored`: an id is known for the stream's
    ///   `deduplication_window` from the append that was stored, whatever repeats came since; then it
    ///   is new. \[`Deduplication`]
    /// - `append_ids_of_different_streams_are_different`. \[`Deduplication`]
    /// - `append_replaces_the_newest_of_its_subject`: on `NODES`; other subjects stay. Who holds what
    ///   was replaced is given the newest all the same. \[`NewestPerSubject`, else `Unsupported`]
    /// - `append_to_a_full_stream_is_full`: what is stored stays. \[`Sequences`]
    /// - `append_is_heard_live`: a live subscriber of the subject hears it too, as it was given. Whether
    ///   one hears what is refused or known already is the broker's choice. \[`Sequences`]
    /// - `append_over_the_limit_is_too_large`: as on `publish`.
    /// - `append_of_a_broker_header_is_invalid`: as on `publish`.
    /// - `append_to_a_denied_subject_is_denied`: nothing is stored. \[`Permissions`]
    /// - `append_after_its_right_is_withdrawn_is_denied`: the next one, on the connection as it is;
    ///   nothing is stored, and other subjects go on. \[`Permissions`, where the harness can change
    ///   them]
    /// - `append_given_up_midway_confuses_no_other`: dropped before it has returned, its message is
    ///   stored once or not at all, and every other append of the connection is confirmed for what it
    ///   is.
    /// - `append_after_close_is_closed`.
    async fn append(
        &self,
        message: Message,
        options: AppendOptions,
    ) -> Result<Appended, TransportError>;

    /// Reads a durable consumer, together with whoever else reads it.
    ///
    /// - `consume_delivers_what_came_while_nobody_read`: oldest first.
    /// - `consume_delivers_only_what_the_consumer_selects`.
    /// - `consume_of_an_absent_consumer_is_not_found`.
    /// - `consume_ack_is_final`: an acknowledged message is not delivered again, to anyone.
    /// - `consume_nak_delivers_again`: the same message with `attempt` one higher.
    /// - `consume_nak_with_a_delay_waits`: not before the delay, however long; other messages pass meanwhile.
    ///   One that the transport can't keep is `Invalid`, and the message comes again at once.
    ///   \[`DelayedNak`, else `Unsupported`]
    /// - `consume_terminate_is_final`: never delivered again.
    /// - `consume_redelivers_what_is_never_settled`: once `ack_wait` has passed. \[`ClaimTimeout`, else
    ///   it stays with its holder, who is told no `ack_wait`]
    /// - `consume_late_acks_touch_nothing_else`: acknowledging a delivery whose claim has passed, and
    ///   that another was given since, settles that message or nothing. The other settles it as usual;
    ///   no other delivery is settled, nothing comes again that was, and nothing is a dead letter.
    ///   \[`ClaimTimeout`]
    /// - `consume_progress_extends_the_claim`: a delivery reported on in time is not given away.
    ///   \[`ClaimTimeout`]
    /// - `consume_waiting_burns_no_attempt`: what waits for its reader, in a buffer or on the broker,
    ///   comes with its first attempt however long it waited. \[`ClaimTimeout`]
    /// - `consume_dropped_deliveries_are_released`: a delivery dropped unsettled comes again.
    /// - `consume_bounds_what_is_in_flight`: never more than `in_flight` handed on and unsettled on
    ///   a reader.
    /// - `consume_readers_share`: two readers get each message once between them.
    /// - `consume_consumers_are_independent`: each consumer of a stream gets every message.
    /// - `consume_hands_over_when_a_reader_leaves`: what waited for a dropped reader goes to another. What
    ///   it had handed on stays with whoever holds it, as before.
    /// - `consume_refuses_what_matches_no_pattern`: told as `Refused`, never handed on, and never
    ///   acknowledged.
    /// - `consume_gives_up_after_the_last_attempt`: after `max_deliver` tries, not delivered again. Where
    ///   nobody reads meanwhile, it may be given up only when somebody does.
    /// - `consume_dead_letters_what_it_gives_up`: appended to the dead letters exactly once, body and
    ///   application headers unchanged, with `x-dead-*` headers that name subject, consumer,
    ///   reason and time, and with `Sequences` the sequence. \[`DeadLetters`, else nothing is appended
    ///   there]
    /// - `consume_dead_letters_are_of_each_consumer`: two that give up the same message leave one each.
    ///   \[`DeadLetters`]
    /// - `consume_dead_letters_what_is_terminated`: the same. \[`DeadLetters`]
    /// - `consume_dead_letters_tell_what_the_handler_said`: in `x-dead-error`; of what is given up as
    ///   undecodable that is the reason; and in `x-dead-deliveries` how often it came.
    ///   \[`DeadLetterReasons`]
    /// - `consume_dead_letters_a_replay_as_its_event`: `x-dead-subject` of a replay that is given up is
    ///   the event's own subject, so that it can be sent back once more. \[`DeadLetters`]
    /// - `consume_delivers_a_replay_to_its_consumer_alone`: a message on
    ///   `mesh.replay.<D>.<module>.<event>` is delivered to consumer `D`, whose filters have it, and to
    ///   no other; on that subject, since stripping the prefix is the runtime's part (protocol §2).
    /// - `consume_work_keeps_its_order`: a work queue of one claim at a time delivers a message that
    ///   was naked with a delay before any later one.
    /// - `consume_settled_work_is_gone`: a work queue forgets what was acknowledged.
    /// - `consume_of_a_denied_consumer_is_denied`: another's consumer can't be read. \[`Permissions`]
    /// - `consume_tells_when_its_consumer_is_retired`: the last item is `Ended` with `NotFound`.
    /// - `consume_given_up_midway_leaves_no_reader`: dropped before it has returned, it keeps nothing
    ///   from who reads next, takes nothing that comes after a flush, and leaves the connection usable.
    /// - `consume_after_close_is_closed`.
    async fn consume(
        &self,
        consumer: ConsumerRef,
        options: ConsumeOptions,
    ) -> Result<Deliveries, TransportError>;
}
