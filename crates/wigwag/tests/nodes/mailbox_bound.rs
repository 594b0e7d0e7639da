//! A number in `mailbox_calls` bounds the calls of all remote callers together.
//!
//! The actor handles a call only once its callers have filled what is theirs for certain, so the
//! test meets the bound and not only a lack of work.

use std::time::Duration;

use tokio::sync::watch;
use wigwag::{Actor, ActorOptions, Node};
use wigwag_testkit::ledger::in_time;

/// No test comes near this limit; it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(120);

/// The largest window that a channel has of its own, in calls.
const FIRST_WINDOW: u64 = 16;

/// The most calls that an actor takes out of its mailbox at once.
const TAKEN: u64 = 256;

struct Slow {
    /// Calls whose `tell` has returned.
    accepted: watch::Receiver<u64>,
    handled: u64,
    /// The largest difference of accepted and handled calls.
    largest: u64,
    /// Calls that are accepted and not handled before the next one is handled, as long as every
    /// channel has enough to send.
    least: u64,
    /// Calls that each channel has still to send, or has sent and waits for.
    left: Vec<u64>,
}

#[wigwag::actor]
impl Slow {
    /// Waits outside a turn, so that the room of the calls that were taken is announced.
    pub async fn accept(&mut self, channel: usize, load: Vec<u8>) -> usize {
        let all_send = self.left.iter().all(|left| *left >= FIRST_WINDOW);
        let awaited = if all_send { self.handled + self.least } else { 0 };
        let accepted = *self.accepted.wait_for(|it| *it >= awaited).await.unwrap();
        self.largest = self.largest.max(accepted.saturating_sub(self.handled));
        self.handled += 1;
        self.left[channel] -= 1;
        load.len()
    }

    /// Returns the number of handled calls, and the most that were accepted and not handled.
    pub fn counts(&self) -> (u64, u64) {
        (self.handled, self.largest)
    }
}

/// Sends `each` tells of `bytes` to an actor with this bound from `channels` nodes. Returns the most calls that were accepted and not handled.
async fn largest(calls: usize, channels: u64, each: u64, bytes: usize) -> u64 {
    let (accept, accepted) = watch::channel(0);
    let least = channels * (calls as u64).min(FIRST_WINDOW).div_ceil(units(bytes));
    let left = vec![each; channels as usize];
    let actor = Slow { accepted, handled: 0, largest: 0, least, left };
    let actor = actor.spawn_with(ActorOptions::default().mailbox_calls(calls));
    let service = Node::new();
    service.export("slow", &actor).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let address = format!("{bound}/slow");
    let nodes: Vec<Node> = (0..channels).map(|_| Node::new()).collect();
    let mut callers = Vec::new();
    for (channel, node) in nodes.iter().enumerate() {
        let slow = node.actor::<Slow>(&address).await.unwrap();
        let accept = accept.clone();
        callers.push(tokio::spawn(async move {
            for _ in 0..each {
                slow.accept(channel, vec![7; bytes]).tell().await.unwrap();
                accept.send_modify(|accepted| *accepted += 1);
            }
            slow.counts().ask().await.unwrap();
        }));
    }
    for caller in callers {
        in_time(PATIENCE, caller).await.unwrap();
    }
    let (handled, largest) = actor.counts().ask().await.unwrap();
    assert_eq!(handled, channels * each);
    largest
}

/// Credit units of a call.
fn units(bytes: usize) -> u64 {
    (bytes as u64 + 8).div_ceil(64)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn remote_calls_fill_the_mailbox_and_a_small_window_each() {
    for calls in [1, 4, 1024] {
        for channels in [1, 16, 256] {
            let each = 4000_u64.div_ceil(channels);
            let largest = largest(calls, channels, each, 1).await;
            let calls = calls as u64;
            let bound = calls + channels * calls.min(FIRST_WINDOW) + TAKEN.min(calls);
            assert!(largest <= bound, "{calls} {channels}: {largest} wait, {bound} may");
        }
    }
}

/// A call that is larger than the whole mailbox still comes through, and is the only one of its
/// channel that waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_are_larger_than_a_bounded_mailbox_come_through_one_by_one() {
    for channels in [1, 16] {
        let largest = largest(4, channels, 50, 10_000).await;
        // A call that waits, and one that the actor has in hand, of each channel.
        assert!(largest <= 2 * channels, "{channels}: {largest} wait");
    }
}
