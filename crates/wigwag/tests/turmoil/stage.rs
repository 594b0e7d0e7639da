//! Hosts with a node each, the network between them, and the seeds that determine it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use turmoil::{Builder, Sim};
use wigwag::testing::SEED_VARIABLE;
use wigwag::{Actor, Interface, Node, NodeOptions, session::SessionChange};
use wigwag_testkit::ledger::Ledger;

use crate::transport::make_known;

/// The result of a host's program.
pub(crate) type Outcome = turmoil::Result;

/// The hosts of every test.
pub(crate) const HOSTS: [&str; 2] = ["dialer", "listener"];

/// The port on which every node listens.
pub(crate) const PORT: u16 = 7000;

/// Runs `body` for each seed, or only for the one that the environment names; a failure prints its
/// seed.
///
/// A seed decides the behaviour of the network: delays, faults and their times. Ids and pauses
/// between dials are random in every run, so a failure may need several runs of its seed to recur.
pub(crate) fn seeds(count: u64, mut body: impl FnMut(u64)) {
    make_known();
    let wanted = std::env::var(SEED_VARIABLE).ok().map(|text| text.parse().expect("a seed"));
    let all = wanted.map_or(0..count, |seed: u64| seed..seed + 1);
    for seed in all {
        let _hint = Hint(seed);
        body(seed);
    }
}

/// Prints the seed when it is dropped by a panic.
struct Hint(u64);

impl Drop for Hint {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("it failed with seed {}; that one alone: {SEED_VARIABLE}={0}", self.0);
        }
    }
}

/// A network with that seed, whose packets take at most `slowest`.
pub(crate) fn network<'a>(seed: u64, slowest: Duration) -> Sim<'a> {
    let mut builder = Builder::new();
    builder.rng_seed(seed).simulation_duration(Duration::from_secs(600)).enable_random_order();
    builder.min_message_latency(Duration::from_millis(1)).max_message_latency(slowest);
    builder.build()
}

/// Numbers that follow from a seed: `splitmix64`.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    /// A number from `least` to `most`, inclusive.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        least + (mixed ^ (mixed >> 31)) % (most - least + 1)
    }

    /// A random duration of `least` to `most` milliseconds.
    pub(crate) fn pause(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.between(least, most))
    }
}

/// The address of the actor that a host exports as `name`.
pub(crate) fn place(host: &str, name: &str) -> String {
    format!("turmoil://{host}:{PORT}/{name}")
}

/// A node called `name` that listens on its host and exports a ledger.
pub(crate) async fn node(name: &str, options: NodeOptions) -> Result<Node, wigwag::NodeError> {
    let node = Node::with(options.name(name));
    // Spinning for answers costs real time, in which the simulation does not advance.
    node.watch_answers(Duration::ZERO);
    node.export("ledger", &Ledger::default().spawn())?;
    node.listen(&format!("turmoil://{name}:{PORT}")).await?;
    Ok(node)
}

/// Looks up the actor at `address`, and retries until a node listens there.
pub(crate) async fn find<I: Interface>(node: &Node, address: &str) -> I::Ref {
    loop {
        if let Ok(found) = node.actor::<I>(address).await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The session events of a node, with their times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<(Duration, SessionChange)>>>);

impl Diary {
    /// Records the events of `node` from now on.
    pub(crate) fn keep(&self, node: &Node) {
        let (diary, mut events) = (self.clone(), node.session_events());
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                diary.write(event.what);
            }
        });
    }

    fn write(&self, what: SessionChange) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push((now(), what));
    }

    /// All recorded entries.
    pub(crate) fn entries(&self) -> Vec<(Duration, SessionChange)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The time of the first entry that matches.
    pub(crate) fn first(&self, such: impl Fn(&SessionChange) -> bool) -> Option<Duration> {
        self.entries().iter().find(|(_, what)| such(what)).map(|(at, _)| *at)
    }

    /// Waits for the first entry that matches, and returns its time.
    pub(crate) async fn wait(&self, such: impl Fn(&SessionChange) -> bool) -> Duration {
        loop {
            if let Some(at) = self.first(&such) {
                return at;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Simulated time since the start; it is equal on all hosts.
pub(crate) fn now() -> Duration {
    turmoil::sim_elapsed().expect("it is a simulation")
}

pub(crate) fn is_cut(what: &SessionChange) -> bool {
    matches!(what, SessionChange::Cut { .. })
}

pub(crate) fn is_ended(what: &SessionChange) -> bool {
    matches!(what, SessionChange::Ended { .. })
}
