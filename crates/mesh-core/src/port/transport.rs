use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::{
    Capabilities, CloseReport, ConnectionStates, Incoming, PublishOptions, SubscribeOptions,
    TransportError,
};
use crate::message::Message;
use crate::subject::Filter;

/// Live messages that a subscription hears.
pub type Subscription = Incoming<Message>;

/// Live messages: who is there hears them, nobody keeps them.
#[async_trait]
pub trait Transport: Send + Sync + fmt::Debug {
    /// What this transport guarantees.
    ///
    /// - `capabilities_are_those_promised`: exactly those that the adapter's conformance test states.
    /// - `capabilities_stay_the_same`: every call answers the same.
    fn capabilities(&self) -> &Capabilities;

    /// The connection's states.
    ///
    /// - `states_begin_with_the_current_one`: a new reader first hears how it is now.
    /// - `states_end_with_closed`: after `close` the last state is `Closed`, and the stream ends.
    fn states(&self) -> ConnectionStates;

    /// Publishes one message to whoever listens now. Returns when the broker has accepted it. A stream
    /// that takes its subject may keep it as well; one that is full does not, and nobody is told.
    ///
    /// - `publish_reaches_every_subscriber`: each live subscription that matches hears it once.
    /// - `publish_keeps_the_whole_message`: payload byte for byte (also empty), headers with their
    ///   case, and the reply address. The order of headers means nothing, and is not kept by all.
    /// - `publish_keeps_the_order_of_one_publisher`: one task's messages arrive in its order.
    /// - `publish_without_subscribers_is_accepted`: nobody listening is no error, and who listens at its
    ///   reply address hears nothing of it.
    /// - `publish_requiring_a_receiver_needs_one`: with `require_receiver` and nobody there it is
    ///   `NoResponders`; with somebody it is delivered, and still has no reply address.
    ///   \[`ReceiverCheck`, else `Unsupported`]
    /// - `publish_requiring_a_receiver_tells_each_its_own`: of many at once, too. \[`ReceiverCheck`]
    /// - `publish_requiring_a_receiver_brings_no_reply_address`: `Invalid`, since the transport may
    ///   need one of its own to hear that nobody is there. \[`ReceiverCheck`]
    /// - `publish_at_the_limit_is_delivered`: a payload of exactly `max_payload` bytes arrives.
    /// - `publish_over_the_limit_is_too_large`: one byte more, or headers over their limit, are
    ///   `TooLarge`; nothing is delivered and the connection stays usable.
    /// - `publish_of_a_repeated_header_is_invalid`: nothing is delivered.
    /// - `publish_of_a_broker_header_is_invalid`: nothing is delivered.
    /// - `publish_to_a_denied_subject_is_denied`: this very call fails; nothing is delivered, and
    ///   the connection stays usable. \[`Permissions`, else dialling with permissions is
    ///   `Unsupported`]
    /// - `publish_denials_reach_their_own_calls`: of many at a time, among others that are allowed, each
    ///   denied one fails with its own subject, and each allowed one arrives. \[`Permissions`]
    /// - `publish_after_its_right_is_withdrawn_is_denied`: the next one, on the connection as it is;
    ///   other subjects go on. \[`Permissions`, where the harness can change them]
    /// - `publish_with_a_broker_reply_is_denied`: a reply address below `$JS.ACK`, `_R_` or `$GR`
    ///   is refused. \[`Permissions`]
    /// - `publish_after_close_is_closed`.
    async fn publish(
        &self,
        message: Message,
        options: PublishOptions,
    ) -> Result<(), TransportError>;

    /// Listens from now on.
    ///
    /// - `subscribe_is_live_when_it_returns`: what is published afterwards, by anyone, is heard.
    /// - `subscribe_hears_only_what_matches`: an exact filter hears its one subject.
    /// - `subscribe_star_is_one_token`: `*` matches one whole token. \[`Wildcards`, else `Unsupported`]
    /// - `subscribe_tail_is_one_or_more_tokens`: `>` matches one or more. \[`Wildcards`]
    /// - `subscribe_hears_its_own_connection`: what the same connection publishes is heard.
    /// - `subscribe_twice_hears_twice`: two subscriptions of one connection are independent.
    /// - `subscribe_group_gives_each_message_to_one_member`: across connections.
    ///   \[`QueueGroups`, else `Unsupported`]
    /// - `subscribe_groups_are_independent`: each group and each plain subscriber gets its own.
    ///   \[`QueueGroups`]
    /// - `subscribe_group_passes_over_a_member_that_left`. \[`QueueGroups`]
    /// - `subscribe_to_a_denied_subject_is_denied`: this very call fails. \[`Permissions`]
    /// - `subscribe_after_its_right_is_withdrawn_is_denied`: the next one; other filters go on.
    ///   \[`Permissions`, where the harness can change them]
    /// - `subscribe_ends_when_its_right_is_withdrawn`: an open one hears nothing more, and its last
    ///   item is `Ended` with `Denied`; others of the connection go on.
    ///   \[`Permissions`, where the harness can change them]
    /// - `subscribe_tells_a_slow_reader_what_it_lost`: a full buffer drops the newest, and the reader
    ///   is told how many; what it reads and what it is told add up to what was published.
    /// - `subscribe_isolates_a_slow_reader`: it delays and loses nothing for others.
    /// - `subscribe_ends_when_dropped`: after a flush nobody receives there. \[`ReceiverCheck`]
    /// - `subscribe_given_up_midway_leaves_nobody`: dropped before it has returned, it leaves no
    ///   subscription after a flush, and the connection usable. \[`ReceiverCheck`]
    /// - `subscribe_after_close_is_closed`.
    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError>;

    /// Returns when the broker has handled all that this connection sent before.
    ///
    /// - `flush_proves_what_was_sent`: what was published before it, by any task of the connection,
    ///   reaches each live subscription before whatever anyone publishes after it.
    /// - `flush_proves_what_was_settled`: a delivery settled before it is settled on the broker.
    ///   \[`DurableConsumers`]
    /// - `flush_after_close_is_closed`.
    async fn flush(&self, timeout: Duration) -> Result<(), TransportError>;

    /// Ends the connection: accepts nothing more, brings what was accepted to the broker, gives back
    /// what is unsettled, and says what became of it all, within `timeout`.
    ///
    /// - `close_delivers_what_was_accepted`: messages whose `publish` returned are heard by others.
    /// - `close_delivers_what_was_answered`: an answer whose `answer` returned reaches its caller.
    ///   \[`Requests`]
    /// - `close_ends_its_subscriptions`: after what had already arrived, they end with `None`.
    /// - `close_leaves_nobody`: once it has returned, nobody receives where it listened.
    ///   \[`ReceiverCheck`]
    /// - `close_releases_what_is_unsettled`: held deliveries go to another reader, and are counted
    ///   as released. \[`DurableConsumers`]
    /// - `close_twice_is_harmless`: the second answers an empty report.
    /// - `close_by_two_at_once_adds_up`: both return, and their reports together say what there was.
    async fn close(&self, timeout: Duration) -> CloseReport;
}
