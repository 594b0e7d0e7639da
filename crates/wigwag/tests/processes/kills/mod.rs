//! Processes that are killed at any moment: the outcomes that the other side reports for its calls
//! are compared with the journal of the dead process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod journal;
mod receiver;
mod returns;
mod sender;

use std::time::Duration;

use wigwag::{Fault, NodeError};
use wigwag_testkit::child;

/// Every wait ends much earlier; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Kills of the receiver, and of the sender.
const RECEIVERS: u64 = 30;
const SENDERS: u64 = 10;

/// Kills of the receiver that one reference outlives.
const RETURNS: usize = 6;

/// Moments drawn from a seed that is printed, so that a run can be repeated as far as timing
/// allows.
struct Draws(u64);

impl Draws {
    fn new() -> Draws {
        let seed = std::env::var("WIGWAG_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = seed.unwrap_or(now.unwrap().as_nanos() as u64);
        eprintln!("WIGWAG_SEED={seed}");
        Draws(seed)
    }

    /// A number below `end`, by splitmix64.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ (mixed >> 27)) >> 8) % end
    }
}

/// The body of the receiving process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_receiver() {
    if let Some(role) = child::role() {
        receiver::serve(&role).await;
    }
}

/// The body of the sending process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_sender() {
    if let Some(role) = child::role() {
        sender::send(&role).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_about_a_killed_receiver_match_its_own_record() {
    let mut draws = Draws::new();
    let mut told = receiver::Told::default();
    for _ in 0..RECEIVERS {
        told.add(receiver::kill_one(Duration::from_micros(draws.below(40_000))).await);
    }
    eprintln!("{RECEIVERS} kills: {told:?}");
    assert!(told.delivered > 0 && told.unknown > 0 && told.answered > 0, "{told:?}");
    assert!(told.receipts > 0, "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_sender_is_given_up_and_what_came_from_it_was_in_order() {
    let mut draws = Draws::new();
    for _ in 0..SENDERS {
        sender::kill_one(Duration::from_micros(draws.below(40_000))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reference_outlives_the_kills_of_its_peer_and_each_call_has_its_true_outcome() {
    let mut draws = Draws::new();
    returns::kill_and_restart(&[(); RETURNS].map(|()| draws.below(40_000))).await;
}

#[tokio::test]
async fn a_reference_to_a_killed_peer_fails_with_the_reason_since_when_and_the_next_attempt() {
    let error = receiver::call_after_kill().await;
    let NodeError::Disconnected { disconnection, .. } = &error else { panic!("{error}") };
    assert_eq!(&*disconnection.why, "nobody listens there");
    // The call has waited for the peer, and the session was cut before it began.
    assert!(disconnection.since >= Duration::from_secs(5), "{error}");
    assert_eq!(error.fault(), Fault::Network);
    let text = error.to_string();
    assert!(text.starts_with("tcp://127.0.0.1:"), "{text}");
    assert!(text.contains(": no connection for "), "{text}");
    let next = ["; the next attempt is in ", "; an attempt is under way"];
    assert!(next.iter().any(|next| text.contains(next)), "{text}");
}
