use super::Breach;

pub(super) const BREACHES: &[Breach] = &[
    ("request_is_answered", "answers without headers"),
    ("request_is_answered", "forgets headers"),
    ("request_is_answered", "cuts the payload"),
    (
        "request_reply_address_names_caller_and_responder",
        "names nobody in the reply address",
    ),
    (
        "request_reply_address_names_caller_and_responder",
        "repeats the reply address",
    ),
    ("request_to_nobody_is_no_responders", "waits for nobody"),
    (
        "request_to_nobody_is_no_responders",
        "says timed out for nobody",
    ),
    ("request_without_an_answer_times_out", "times out at once"),
    ("request_without_an_answer_times_out", "never times out"),
    (
        "request_to_a_denied_subject_is_denied",
        "permits every publish",
    ),
    ("request_over_the_limit_is_too_large", "checks no size"),
    (
        "request_answers_are_not_mixed_up",
        "answers whoever waits first",
    ),
    (
        "request_late_answer_reaches_nobody",
        "repeats the reply address",
    ),
    (
        "request_with_its_own_reply_address_is_invalid",
        "takes a reply address of the caller",
    ),
    ("request_after_close_is_closed", "requests after close"),
    ("serve_shares_calls_in_its_group", "calls every member"),
    (
        "serve_refuses_a_call_without_a_reply_address",
        "hands on calls without a reply",
    ),
    ("serve_refuses_a_foreign_reply_address", "answers anywhere"),
    (
        "serve_refuses_a_foreign_reply_address",
        "answers with a refusal",
    ),
    (
        "serve_names_the_caller_where_it_is_proven",
        "believes the reply address",
    ),
    (
        "serve_names_the_caller_where_it_is_proven",
        "believes a header",
    ),
    ("serve_answer_over_the_limit_is_too_large", "checks no size"),
    (
        "serve_to_a_denied_subject_is_denied",
        "permits every subscribe",
    ),
    ("serve_ends_when_dropped", "keeps what was dropped"),
    ("serve_after_close_is_closed", "serves after close"),
];
