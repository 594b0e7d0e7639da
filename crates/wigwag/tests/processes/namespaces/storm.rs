//! The cuts, one after the other, each after a given number of further messages.

use std::sync::atomic::Ordering;
use std::time::Duration;

use wigwag::{
    Node,
    session::{SessionChange, SessionEvents},
};
use wigwag_testkit::ledger::{SENT, in_time};

use super::PATIENCE;
use super::land::{LISTENER, run};

/// Longer than three heartbeats, so that both sides notice by themselves.
const PULLED: Duration = Duration::from_millis(3400);
const STOPPED: Duration = Duration::from_millis(4000);

/// The cuts that were made, by kind.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) destroyed: u64,
    pub(crate) silent: u64,
    pub(crate) stopped: u64,
}

pub(crate) struct Storm {
    events: SessionEvents,
    cable: String,
    listener: String,
}

impl Storm {
    /// Acts in the dialer's namespace, on its end `cable`; `listener` is the other process's id.
    pub(crate) fn new(node: &Node, cable: &str, listener: &str) -> Storm {
        let (cable, listener) = (cable.to_owned(), listener.to_owned());
        Storm { events: node.session_events(), cable, listener }
    }

    /// Makes `cuts` cuts, spread evenly over `messages` messages. Most of them have the kernel
    /// destroy a connection, because the other kinds take seconds.
    pub(crate) async fn rage(mut self, messages: u64, cuts: u64) -> Counts {
        let mut counts = Counts::default();
        for cut in 0..cuts {
            let due = messages / (cuts + 1) * (cut + 1);
            while SENT.load(Ordering::Relaxed) < due {
                tokio::task::yield_now().await;
            }
            match cut % 25 {
                12 => {
                    run_aside(format!("ip link set {} down", self.cable)).await;
                    tokio::time::sleep(PULLED).await;
                    run_aside(format!("ip link set {} up", self.cable)).await;
                    counts.silent += 1;
                }
                24 if cut % 50 == 24 => {
                    run_aside(format!("kill -STOP {}", self.listener)).await;
                    tokio::time::sleep(STOPPED).await;
                    run_aside(format!("kill -CONT {}", self.listener)).await;
                    counts.stopped += 1;
                }
                _ => {
                    run_aside(format!("ss -K dst {LISTENER}")).await;
                    counts.destroyed += 1;
                }
            }
            self.resumed().await;
        }
        counts
    }

    /// Waits until the session has resumed, whichever side has dialed it.
    async fn resumed(&mut self) {
        in_time(PATIENCE, async {
            loop {
                let event = self.events.next().await.unwrap();
                match event.what {
                    SessionChange::Resumed { .. } => return,
                    SessionChange::Ended { why, .. } => panic!("it is over: {why}"),
                    _ => {}
                }
            }
        })
        .await;
    }
}

async fn run_aside(line: String) {
    tokio::task::spawn_blocking(move || run(&line)).await.unwrap();
}
