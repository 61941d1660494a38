//! The cases, one file for each part of the federation.

mod backbone;
mod crashes;
mod finding;
mod floods;
mod guards;
mod inside;
mod leases;
mod old;
mod requests;
mod routers;
mod sessions;
mod strangler;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::ground::Ground;

/// How long a case may take on a busy machine, with the start of its brokers.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) type Case = fn(Ground) -> Pin<Box<dyn Future<Output = ()>>>;

/// Cases by the names of their functions.
macro_rules! cases {
    ($($module:ident::$name:ident),* $(,)?) => {
        vec![$((stringify!($name), (|ground| Box::pin($module::$name(ground))) as Case)),*]
    };
}

/// The cases of a ground: all of them, but for those that want what it does not have.
pub(crate) fn all(ground: Ground) -> Vec<(&'static str, Case)> {
    let mut all =
        cases![backbone::each_mailbox_is_its_own_gateways_alone, backbone::a_wildcard_is_refused,];
    if ground.has_groups() {
        all.extend(cases![backbone::gateways_of_a_realm_share_its_mailboxes]);
    }
    all.extend(cases![inside::a_component_answers_within_its_realm]);
    if ground.has_rights_inside() {
        all.extend(cases![inside::a_component_has_its_own_paths_alone]);
    }
    all.extend(cases![
        requests::a_legacy_command_is_answered_in_legacy,
        requests::a_command_in_mxenv1_is_answered_in_mxenv1,
        requests::an_answer_comes_by_the_mailbox_that_the_command_came_by,
        requests::the_backbone_holds_the_mailboxes_and_nothing_else,
        requests::a_component_that_fails_is_told_in_its_own_words,
        requests::a_silent_component_is_a_time_out,
        requests::a_command_that_nobody_serves_is_refused_at_once,
        requests::an_event_is_said_inside_with_its_bare_body,
    ]);
    all.extend(cases![
        guards::a_relay_attempt_produces_nothing,
        guards::a_message_that_comes_again_is_handled_once,
        guards::over_the_limit_is_answered_and_may_come_again,
        guards::what_the_policy_denies_is_answered_and_may_come_again,
        guards::what_is_misaddressed_expired_or_no_envelope_is_dropped,
        guards::components_of_the_realm_alone_are_closed,
        guards::a_guard_in_shadow_counts_and_lets_through,
    ]);
    all.extend(cases![
        finding::the_direct_way_is_preferred,
        finding::the_backbone_is_used_when_the_direct_publish_fails,
        finding::a_time_out_never_sends_again,
        finding::a_realm_that_nobody_reads_is_unavailable,
    ]);
    all.extend(cases![
        leases::a_subscription_is_served_refreshed_and_ended,
        leases::a_lease_ends_by_the_clock_and_its_sink_is_told,
        leases::only_its_owner_refreshes_or_ends_a_lease,
        leases::what_is_no_event_of_the_realm_is_no_source,
        leases::a_watched_event_goes_from_bus_to_bus,
    ]);
    all.extend(cases![
        sessions::a_principal_is_found_where_it_registered_until_its_time_is_over,
        sessions::a_tab_speaks_for_its_own_realm_and_principal_alone,
        sessions::a_push_reaches_every_tab_in_its_own_profile,
    ]);
    all.extend(cases![
        routers::a_message_finds_its_realm_through_the_tree,
        routers::a_message_without_a_hop_left_is_dropped,
        routers::a_realm_that_nobody_knows_is_dropped,
    ]);
    all.extend(cases![strangler::a_realm_is_switched_from_wire_to_wire_under_load]);
    if ground.can_crash() {
        all.extend(cases![
            strangler::a_server_that_is_killed_meanwhile_loses_and_doubles_nothing_else,
            crashes::a_watch_goes_on_after_a_kill_and_tells_the_gap,
        ]);
    }
    if ground == Ground::Nats {
        all.extend(cases![crashes::a_bus_that_is_killed_leaves_no_question_open]);
    }
    if ground == Ground::NatsAndMemory {
        all.extend(cases![
            floods::garbage_is_counted_and_others_are_served,
            floods::invented_realms_leave_room_for_listed_ones,
            floods::one_realm_over_its_limits_takes_nothing_from_another,
        ]);
    }
    all
}

/// Runs one on a thread of its own.
pub(crate) fn run(ground: Ground, case: Case) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, case(ground)).await.expect("not over in time");
    });
}
