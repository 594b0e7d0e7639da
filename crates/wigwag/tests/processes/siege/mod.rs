//! A node in a process of its own, with little memory and few descriptors, under one hostile peer
//! after the other; beside each, honest peers whose every ask is answered.
//!
//! The rows are those of `docs/hostile.md`. A row takes two seconds, or sixty in the nightly run.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the test prints the figures of `docs/hostile.md`")]

mod clients;
mod crowds;
mod floods;
mod honest;
mod server;

use std::time::Duration;

use wigwag_testkit::child;

use honest::Honest;
use server::Server;

/// Every wait ends soon; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Less than the 5 s for which a silent pending handshake could hold a place: an honest peer that
/// waits for one is noticed on a busy machine too. The actual time is printed.
const AT_ONCE: Duration = Duration::from_secs(4);

fn is_night() -> bool {
    std::env::var_os("WIGWAG_NIGHTLY").is_some()
}

/// How long each hostile peer runs.
fn duration() -> Duration {
    Duration::from_secs(if is_night() { 60 } else { 2 })
}

/// The row that uses up the channels of the node, which its calls hold until the slow actor has
/// handled them.
const ALL_CHANNELS: &str = "full channels, detached";

/// Runs a row: the hostile peer for its time, honest ones beside it; then the server must be as
/// before.
async fn besiege(name: &str, descriptors: u64, rude: impl AsyncFn(&str)) {
    let server = Server::start(descriptors).await;
    let honest = Honest::start(&server.address);
    let before = server.descriptors();
    // The hostile peer and the honest ones share this thread's runtime, so neither has it alone.
    let _ = tokio::time::timeout(duration(), rude(&server.address)).await;
    let heard = honest.stop().await;
    server.is_back_at(before).await;
    println!("{name}: {heard}, {} MiB resident at most", server.peak_mib());
    assert!(heard.asks > 10, "{name}: the honest peers came to nothing: {heard}");
    assert!(heard.newcomers > 0, "{name}: no newcomer was let in: {heard}");
    assert!(heard.refused == 0 || name == ALL_CHANNELS, "{name}: newcomers were refused: {heard}");
}

/// The body of a child; it returns at once if this process is not a child.
#[test]
fn child_server() {
    if let Some(role) = child::role() {
        server::serve(&role);
    }
}

macro_rules! rows {
    ($($test:ident $name:tt $descriptors:literal $rude:path;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                besiege($name, $descriptors, async |address| $rude(address).await).await;
            }
        )*
    };
}

rows! {
    connections_that_say_nothing "half-open connections" 4096 crowds::half_open;
    connections_that_stop_after_their_header "handshakes that stop" 4096 crowds::half_greeted;
    sessions_over_which_nothing_comes "silent sessions" 4096 crowds::silent_sessions;
    sessions_whose_connections_are_cut "cut sessions" 4096 crowds::cut_sessions;
    crowds_that_use_up_all_descriptors "half-open connections, 128 descriptors" 128 crowds::half_open;
    answers_that_are_read_and_not_acknowledged "describe without acks" 4096 floods::describe_unacknowledged;
    replies_that_are_read_and_not_acknowledged "asks without acks" 4096 floods::asks_unacknowledged;
    answers_that_are_not_read "describe, nothing read" 4096 floods::describe_unread;
    channels_that_come_and_go_unread "ATTACH and DETACH, nothing read" 4096 floods::attach_unread;
    channels_that_fill_a_slow_actor_and_go ALL_CHANNELS 4096 floods::fill_and_detach;
    sessions_that_fill_a_slow_actor_and_go "full channels, closed" 4096 floods::fill_and_close;
    bytes_without_sense "random bytes" 4096 floods::noise;
}
