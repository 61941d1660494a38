use super::Breach;

pub(super) const BREACHES: &[Breach] = &[
    (
        "capabilities_are_those_promised",
        "declares less than it promised",
    ),
    ("capabilities_stay_the_same", "changes its capabilities"),
    (
        "states_begin_with_the_current_one",
        "begins without a state",
    ),
    ("states_end_with_closed", "never says that it closed"),
    (
        "publish_reaches_every_subscriber",
        "drops every third message",
    ),
    (
        "publish_reaches_every_subscriber",
        "keeps one subscription for a filter",
    ),
    ("publish_keeps_the_whole_message", "forgets headers"),
    (
        "publish_keeps_the_whole_message",
        "forgets the reply address",
    ),
    (
        "publish_keeps_the_whole_message",
        "lower-cases header names",
    ),
    ("publish_keeps_the_whole_message", "sorts headers"),
    ("publish_keeps_the_whole_message", "cuts the payload"),
    ("publish_keeps_the_order_of_one_publisher", "reorders"),
    (
        "publish_without_subscribers_is_accepted",
        "wants a receiver for everything",
    ),
    (
        "publish_requiring_a_receiver_needs_one",
        "publishes to nobody",
    ),
    (
        "publish_at_the_limit_is_delivered",
        "refuses a payload at its limit",
    ),
    ("publish_over_the_limit_is_too_large", "checks no size"),
    (
        "publish_over_the_limit_is_too_large",
        "sends what it refuses",
    ),
    (
        "publish_over_the_limit_is_too_large",
        "hangs up after a refusal",
    ),
    (
        "publish_of_a_repeated_header_is_invalid",
        "takes repeated headers",
    ),
    (
        "publish_of_a_repeated_header_is_invalid",
        "sends what it refuses",
    ),
    (
        "publish_of_a_broker_header_is_invalid",
        "takes broker headers",
    ),
    (
        "publish_of_a_broker_header_is_invalid",
        "sends what it refuses",
    ),
    (
        "publish_to_a_denied_subject_is_denied",
        "permits every publish",
    ),
    (
        "publish_to_a_denied_subject_is_denied",
        "tells a denial to the next call",
    ),
    (
        "publish_with_a_broker_reply_is_denied",
        "takes any broker reply",
    ),
    ("publish_after_close_is_closed", "publishes after close"),
    (
        "subscribe_is_live_when_it_returns",
        "subscribes a little late",
    ),
    (
        "subscribe_hears_only_what_matches",
        "hears the subjects below",
    ),
    ("subscribe_star_is_one_token", "lets a star match many"),
    (
        "subscribe_tail_is_one_or_more_tokens",
        "lets a tail match nothing",
    ),
    (
        "subscribe_hears_its_own_connection",
        "hears nothing of its own",
    ),
    (
        "subscribe_twice_hears_twice",
        "keeps one subscription for a filter",
    ),
    (
        "subscribe_to_a_denied_subject_is_denied",
        "permits every subscribe",
    ),
    ("subscribe_ends_when_dropped", "keeps what was dropped"),
    ("subscribe_after_close_is_closed", "subscribes after close"),
    (
        "subscribe_group_gives_each_message_to_one_member",
        "delivers twice in a group",
    ),
    (
        "subscribe_group_gives_each_message_to_one_member",
        "drops every third message",
    ),
    (
        "subscribe_groups_are_independent",
        "takes all groups for one",
    ),
    (
        "subscribe_group_passes_over_a_member_that_left",
        "keeps what was dropped",
    ),
    (
        "subscribe_tells_a_slow_reader_what_it_lost",
        "loses without a word",
    ),
    (
        "subscribe_tells_a_slow_reader_what_it_lost",
        "drops the oldest",
    ),
    (
        "subscribe_isolates_a_slow_reader",
        "lets a slow reader hold up others",
    ),
    ("flush_proves_what_was_sent", "flushes nothing"),
    ("flush_after_close_is_closed", "flushes after close"),
    ("close_delivers_what_was_accepted", "closes before it sends"),
    ("close_ends_its_subscriptions", "leaves subscriptions open"),
    (
        "close_ends_its_subscriptions",
        "ends subscriptions with an error",
    ),
    (
        "close_releases_what_is_unsettled",
        "keeps claims of the closed",
    ),
    ("close_twice_is_harmless", "closes twice"),
];
