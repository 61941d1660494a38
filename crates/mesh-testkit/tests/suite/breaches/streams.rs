use super::Breach;

pub(super) const BREACHES: &[Breach] = &[
    ("append_returns_when_the_broker_has_it", "forgets an append"),
    ("append_keeps_the_whole_message", "stores no headers"),
    ("append_keeps_the_whole_message", "cuts the payload"),
    ("append_keeps_the_whole_message", "lower-cases header names"),
    (
        "append_without_a_stream_is_not_found",
        "swallows what no stream takes",
    ),
    ("append_counts_up", "counts over all streams"),
    ("append_checks_the_expected_sequence", "expects nothing"),
    (
        "append_checks_the_expected_sequence",
        "expects the last of the stream",
    ),
    ("append_of_a_known_id_is_a_duplicate", "stores a repeat"),
    (
        "append_of_a_known_id_is_a_duplicate",
        "names a new sequence for a repeat",
    ),
    (
        "append_ids_of_different_streams_are_different",
        "knows the ids of other streams",
    ),
    (
        "append_replaces_the_newest_of_its_subject",
        "keeps every declaration",
    ),
    ("append_to_a_full_stream_is_full", "takes more than fits"),
    (
        "append_to_a_full_stream_is_full",
        "drops the oldest when full",
    ),
    (
        "append_to_a_full_stream_is_full",
        "ignores a subject's share",
    ),
    ("append_is_heard_live", "appends in silence"),
    ("append_over_the_limit_is_too_large", "checks no size"),
    (
        "append_of_a_broker_header_is_invalid",
        "takes broker headers",
    ),
    (
        "append_of_a_broker_header_is_invalid",
        "takes repeated headers",
    ),
    (
        "append_to_a_denied_subject_is_denied",
        "permits every publish",
    ),
    ("append_after_close_is_closed", "appends after close"),
    (
        "consume_delivers_what_came_while_nobody_read",
        "begins with the newest",
    ),
    (
        "consume_delivers_what_came_while_nobody_read",
        "forgets an append",
    ),
    (
        "consume_delivers_only_what_the_consumer_selects",
        "ignores the selection",
    ),
    (
        "consume_of_an_absent_consumer_is_not_found",
        "invents consumers",
    ),
    ("consume_bounds_what_is_in_flight", "ignores the bound"),
    (
        "consume_refuses_what_matches_no_pattern",
        "hands on what matches no pattern",
    ),
    (
        "consume_refuses_what_matches_no_pattern",
        "acks what it refuses",
    ),
    (
        "consume_of_a_denied_consumer_is_denied",
        "lets anybody consume",
    ),
    (
        "consume_tells_when_its_consumer_is_retired",
        "retires in silence",
    ),
    ("consume_after_close_is_closed", "consumes after close"),
    ("consume_ack_is_final", "acks nothing"),
    ("consume_nak_delivers_again", "naks nothing"),
    ("consume_nak_delivers_again", "counts no attempts"),
    ("consume_nak_with_a_delay_waits", "ignores the delay"),
    (
        "consume_nak_with_a_delay_waits",
        "holds everything up for a delay",
    ),
    ("consume_terminate_is_final", "terminates nothing"),
    (
        "consume_redelivers_what_is_never_settled",
        "forgets what is never settled",
    ),
    (
        "consume_redelivers_what_is_never_settled",
        "lets claims run out early",
    ),
    (
        "consume_redelivers_what_is_never_settled",
        "counts no attempts",
    ),
    ("consume_progress_extends_the_claim", "ignores progress"),
    (
        "consume_dropped_deliveries_are_released",
        "acks what is dropped",
    ),
    ("consume_readers_share", "delivers everything twice"),
    (
        "consume_consumers_are_independent",
        "forgets what one consumer settled",
    ),
    (
        "consume_hands_over_when_a_reader_leaves",
        "keeps what a reader left with",
    ),
    ("consume_gives_up_after_the_last_attempt", "never gives up"),
    ("consume_dead_letters_what_it_gives_up", "buries nothing"),
    ("consume_dead_letters_what_it_gives_up", "buries twice"),
    (
        "consume_dead_letters_what_it_gives_up",
        "buries without its headers",
    ),
    (
        "consume_dead_letters_what_it_gives_up",
        "buries with forged headers",
    ),
    ("consume_dead_letters_what_it_gives_up", "never gives up"),
    ("consume_dead_letters_what_is_terminated", "gives no reason"),
    ("consume_dead_letters_what_is_terminated", "buries twice"),
    ("consume_work_keeps_its_order", "lets work overtake"),
    ("consume_settled_work_is_gone", "keeps settled work"),
];
