//! Peers that keep every rule, beside those that keep none.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use wigwag::{CallErrorKind, Node, NodeError};

use super::server::{Sum, SumRef};
use super::{AT_ONCE, PATIENCE};

/// The pause between two asks, so that the hostile peer has the machine too.
const PAUSE: Duration = Duration::from_millis(1);

/// Honest peers at work: one asks over a session of its own, one reconnects for each ask.
pub(crate) struct Honest {
    stop: watch::Sender<bool>,
    asking: JoinHandle<Vec<Duration>>,
    arriving: JoinHandle<(Vec<Duration>, usize)>,
}

/// Results of the honest peers: every ask was answered, and correctly.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) asks: usize,
    pub(crate) newcomers: usize,
    /// Newcomers that were refused because the node has no more channels.
    pub(crate) refused: usize,
    ask_p99: Duration,
    newcomer_p99: Duration,
}

impl Honest {
    pub(crate) fn start(address: &str) -> Honest {
        let (stop, stopped) = watch::channel(false);
        let asking = tokio::spawn(ask(address.to_owned(), stopped.clone()));
        let arriving = tokio::spawn(arrive(address.to_owned(), stopped));
        Honest { stop, asking, arriving }
    }

    pub(crate) async fn stop(self) -> Heard {
        self.stop.send_replace(true);
        let mut asks = timeout(PATIENCE, self.asking).await.unwrap().unwrap();
        let (mut newcomers, refused) = timeout(PATIENCE, self.arriving).await.unwrap().unwrap();
        Heard {
            asks: asks.len(),
            newcomers: newcomers.len(),
            refused,
            ask_p99: p99(&mut asks),
            newcomer_p99: p99(&mut newcomers),
        }
    }
}

fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) * 99 / 100).copied().unwrap_or_default()
}

/// `None` if the node has no more channels.
async fn find(node: &Node, address: &str) -> Option<SumRef> {
    let place = format!("{address}/sum");
    // If its own source address is crowded, a slow handshake may be evicted by another one; the
    // client then dials again.
    let found = async {
        loop {
            match node.actor::<Sum>(&place).await {
                Ok(sum) => break Some(sum),
                Err(error) if error.call_error() == Some(CallErrorKind::Overloaded) => break None,
                Err(NodeError::Net(_)) => tokio::task::yield_now().await,
                Err(other) => panic!("{other}"),
            }
        }
    };
    timeout(AT_ONCE, found).await.expect("a newcomer is let in at once")
}

async fn add(sum: &SumRef, number: u64) -> Duration {
    let begun = Instant::now();
    let answer = timeout(AT_ONCE, sum.add(number, 1).ask()).await;
    assert_eq!(answer.expect("an honest ask is answered at once").unwrap(), number + 1);
    begun.elapsed()
}

async fn ask(address: String, stopped: watch::Receiver<bool>) -> Vec<Duration> {
    let node = Node::new();
    let sum = find(&node, &address).await.expect("there is a channel at the start");
    let mut times = Vec::new();
    while !*stopped.borrow() {
        times.push(add(&sum, times.len() as u64).await);
        tokio::time::sleep(PAUSE).await;
    }
    assert!(node.close(PATIENCE).await.is_clean());
    times
}

/// The times of the newcomers that were answered, and the number of those that were refused.
async fn arrive(address: String, stopped: watch::Receiver<bool>) -> (Vec<Duration>, usize) {
    let (mut times, mut refused) = (Vec::new(), 0);
    while !*stopped.borrow() {
        let begun = Instant::now();
        let node = Node::new();
        match find(&node, &address).await {
            Some(sum) => {
                add(&sum, times.len() as u64).await;
                times.push(begun.elapsed());
            }
            None => refused += 1,
        }
        assert!(node.close(PATIENCE).await.is_clean());
        tokio::time::sleep(10 * PAUSE).await;
    }
    (times, refused)
}

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Heard { asks, newcomers, refused, ask_p99, newcomer_p99 } = self;
        write!(
            f,
            "{asks} asks answered, p99 {ask_p99:.1?}; {newcomers} newcomers, p99 {newcomer_p99:.1?}, \
             {refused} refused"
        )
    }
}
