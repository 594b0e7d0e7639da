//! The promises of every transport, protocol and codec, tested once for all of them.
//!
//! Each promise is a function of this crate. The macros make one test of each promise for one
//! implementation, so the files in `tests/` have one line for each implementation, and a new
//! transport is tested for all promises by such a line.
//!
//! Tests wait for events and not for time to pass; [`run`] ends a test that waits for an event
//! which does not come.
#![forbid(unsafe_code)]

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Builder;

pub mod test_env;
pub mod payload;
pub mod transport;
pub mod handshake;
mod protocols;
mod sockets;
pub mod codec;
pub mod fuzz;

pub use protocols::{
    bus_star, contexts, pair, pair_many, pipeline, publish_subscribe, request_reply, survey,
};
pub use sockets::{closing, forwarders, hops, observation, options, raw, socket};
pub use test_env::TestEnv;

/// The time after which a test is taken to wait for an event that does not come.
pub(crate) const TEST_MAX: Duration = Duration::from_secs(60);

/// Runs a test with two workers, the number of processors of the machines that run the tests.
pub fn run(test: impl Future<Output = ()>) {
    let runtime =
        Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        tokio::time::timeout(TEST_MAX, test)
            .await
            .expect("the test waits for something that does not happen");
    });
}

/// Waits until `happened` returns true, for a state that no event announces.
pub(crate) async fn eventually(happened: impl Fn() -> bool) {
    while !happened() {
        pause().await;
    }
}

/// Lets the other tasks run.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Makes a test of each promise, for one address pattern: see [`TestEnv`].
#[macro_export]
macro_rules! conformance_tests {
    ($module:ident, $pattern:expr; $($group:ident: $($test:ident)*;)*) => {
        mod $module {
            $($(
                #[test]
                fn $test() {
                    let env = $crate::TestEnv::new($pattern);
                    $crate::run($crate::$group::$test(&env));
                }
            )*)*
        }
    };
}

/// Tests the promises of a transport to the users of its connections.
#[macro_export]
macro_rules! transport_conformance {
    ($module:ident, $pattern:expr) => {
        $crate::conformance_tests! {
            $module, $pattern;
            transport:
                messages_keep_their_order_and_content
                both_directions_flow_at_once
                a_peer_that_closes_in_the_middle_is_noticed
                a_finished_direction_leaves_the_other_open
                closing_ends_our_own_reader
                dialling_without_a_listener_is_refused
                an_address_is_listened_at_once
                single_bytes_come_through
                a_thousand_dials_at_once_are_accepted
                a_writer_stops_without_a_reader
                a_blocking_write_needs_no_runtime;
            handshake:
                a_listener_refuses_each_wrong_header
                a_dialer_reports_each_wrong_header
                a_silent_peer_is_disconnected;
        }
    };
}

/// Tests the promises of the SP sockets over one transport.
#[macro_export]
macro_rules! protocol_conformance {
    ($module:ident, $pattern:expr) => {
        $crate::conformance_tests! {
            $module, $pattern;
            request_reply:
                each_request_has_its_reply
                many_requesters_each_get_their_own_reply
                a_request_outlives_the_socket_that_was_to_answer
                a_request_is_asked_again_when_no_reply_comes
                without_resending_a_lost_request_is_an_error
                a_request_that_the_peer_does_not_accept_is_an_error
                a_reply_that_this_side_does_not_accept_is_an_error
                a_second_request_cancels_the_first
                a_reply_needs_a_request
                malformed_requests_are_counted_and_the_pipe_goes_on;
            pipeline:
                a_pipeline_keeps_order_and_content
                lists_of_messages_keep_order_and_content
                two_workers_share_the_work
                a_pusher_stops_without_a_reader_and_nothing_is_lost
                a_closing_pusher_waits_until_its_peer_has_read
                messages_of_a_thousand_pushers_all_arrive
                accepted_messages_are_written_before_the_close;
            pair:
                a_pair_talks_both_ways_at_once
                a_third_peer_is_refused
                a_pair_that_is_full_both_ways_recovers
                a_pair_finds_its_restarted_peer
                a_peer_that_sets_reserved_bits_is_disconnected;
            publish_subscribe:
                each_subscriber_receives_its_topics
                a_topic_can_be_taken_back
                a_slow_subscriber_loses_alone
                a_publisher_that_does_not_pause_loses_nothing
                publishing_without_subscribers_is_no_error;
            survey:
                all_respondents_are_asked_and_answer
                a_survey_ends_with_its_time
                a_new_survey_ends_the_old_one
                an_answer_needs_a_survey;
            bus_star:
                a_bus_reaches_its_neighbours_only
                a_star_reaches_all_sockets
                a_pair_of_version_0_has_one_peer;
            contexts:
                many_questions_at_once_each_get_their_own_answer
                a_dropped_context_cancels_its_question
                a_dropped_ask_is_not_asked_again
                surveys_run_side_by_side
                each_context_receives_its_own_topics
                contexts_are_bounded_and_end_with_their_socket;
            closing:
                closing_ends_the_contexts_that_wait
                closing_ends_the_sockets_own_calls
                closing_ends_threads_at_work;
            raw:
                a_raw_socket_returns_replies_by_their_headers
                a_raw_reply_to_a_peer_that_left_is_counted
                a_raw_rep_drops_messages_with_too_many_hops
                a_raw_bus_passes_to_all_but_the_origin
                a_raw_sub_receives_all_topics
                a_raw_pusher_stops_without_a_reader
                a_malformed_raw_header_is_handed_back;
            pair_many:
                each_of_many_peers_is_known_and_answered
                only_senders_to_a_full_peer_wait
                a_peer_that_leaves_ends_the_wait_for_it
                two_pairs_of_many_talk;
            forwarders:
                requests_and_replies_pass
                work_passes_in_order_and_a_full_end_stops_the_source
                no_message_is_taken_that_cannot_be_forwarded
                published_values_pass
                surveys_pass
                pairs_pass_both_ways
                a_bus_passes_to_the_other_bus
                a_star_passes_to_all_sockets
                reflectors_send_out_of_the_socket_that_received
                a_client_that_leaves_costs_only_its_reply
                a_forwarder_ends_with_either_socket;
            hops:
                a_chain_of_forwarders_is_as_long_as_the_limit
                a_chain_of_pairs_is_as_long_as_the_limit
                a_ring_of_forwarders_ends_a_request
                a_ring_of_forwarders_ends_a_survey;
            socket:
                dialling_without_a_listener_fails_without_side_effects
                the_wrong_partner_is_named
                a_message_over_the_limit_ends_the_connection
                closing_ends_the_calls_that_wait
                closing_frees_the_address
                a_timeout_says_what_was_missing
                a_dropped_recv_loses_nothing
                a_dropped_send_passes_its_turn_on;
            options:
                a_later_priority_is_sent_to_only_when_the_first_is_full
                a_first_priority_is_received_first
                queues_have_the_length_that_was_set
                each_dialer_and_listener_has_its_own_receive_limit
                without_lingering_the_rest_is_dropped_and_counted
                lingering_without_a_limit_delivers_everything
                untaken_messages_are_counted_at_the_close
                a_dial_in_the_background_waits_for_its_peer
                a_listener_is_closed_alone
                a_dialer_is_closed_alone
                the_hop_limit_can_be_set;
            observation:
                a_watcher_gets_the_events_of_each_pipe_in_order
                a_watcher_may_refuse
                a_watcher_is_notified_of_refusals_by_the_protocol
                messages_and_bytes_are_counted_both_ways
                failed_handshakes_are_counted_by_reason
                a_message_that_the_peer_does_not_accept_is_reported
                one_pipe_can_be_closed
                unwanted_messages_of_a_peer_are_counted_by_reason;
        }
    };
}

/// Tests the promises of a wire type: a value is decoded as it was encoded, and never from a part
/// of its bytes.
#[macro_export]
macro_rules! codec_conformance {
    ($module:ident, $type:ty, $($value:expr),+ $(,)?) => {
        mod $module {
            #[test]
            fn values_come_back() {
                $($crate::codec::comes_back::<$type>(&$value);)+
            }

            #[test]
            fn no_part_of_a_value_is_taken_for_it() {
                $($crate::codec::is_not_read_from_a_part::<$type>(&$value);)+
            }
        }
    };
}
