//! The cuts: one after the other, each when so many messages more have gone out.

use std::sync::atomic::Ordering;
use std::time::Duration;

use wigwag::{
    Node,
    session::{SessionChange, SessionEvents},
};
use wigwag_testkit::ledger::{SENT, in_time};

use super::PATIENCE;
use super::land::{LISTENER, run};

/// Longer than three signs of life, so that both sides find out by themselves.
const PULLED: Duration = Duration::from_millis(3400);
const STOPPED: Duration = Duration::from_millis(4000);

/// What was done.
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
    /// In the dialer's namespace, over that end of its cable; `listener` is the other process's number.
    pub(crate) fn new(node: &Node, cable: &str, listener: &str) -> Storm {
        let (cable, listener) = (cable.to_owned(), listener.to_owned());
        Storm { events: node.session_events(), cable, listener }
    }

    /// So many cuts, evenly over so many messages. Most are connections that the kernel destroys,
    /// because the others take seconds.
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

    /// The session goes on, whichever side has dialed it.
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
