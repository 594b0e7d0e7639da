//! Random values of every type that has a form, alone and nested three levels deep: each goes to an
//! actor of this process and, in both codecs, to one of another process, and comes back as it was.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod around;
mod echo;
mod strategies;
mod types_of_crates;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use wigwag::{Actor, Interface, Node, NodeOptions};
use wigwag_testkit::child::{self, Child};

use echo::{Echo, Widths};

/// Values of each type, and in the long form.
const CASES: u32 = 24;
const CASES_NIGHTLY: u32 = 1_000;

/// The body of the other process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_echo() {
    if child::role().is_none() {
        return;
    }
    let node = Node::new();
    node.export("echo", &Echo.spawn()).unwrap();
    node.export("widths", &Widths.spawn()).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    child::say(&bound.to_string());
    tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
}

/// References to one actor of each place, with the name of the place.
type Places<R> = [(&'static str, R); 3];

/// Two nodes of this process, which use the fixed-width form or do not, and the other process.
struct Stage {
    nodes: [Node; 2],
    child: Child,
}

impl Stage {
    async fn new() -> Stage {
        let start = || Child::start("values::child_echo", "echo");
        let child = tokio::task::spawn_blocking(start).await.unwrap();
        let node = |fixed| Node::with(NodeOptions::default().fixed_width(fixed));
        Stage { nodes: [node(true), node(false)], child }
    }

    async fn places<A: Actor + Interface>(&self, actor: A, name: &str) -> Places<A::Ref> {
        let address = format!("{}/{name}", self.child.said);
        let [fixed, plain] = &self.nodes;
        [
            ("this process", actor.spawn()),
            ("codec 1", fixed.actor::<A>(&address).await.unwrap()),
            ("codec 0", plain.actor::<A>(&address).await.unwrap()),
        ]
    }
}

/// Draws values from a seed that is printed, so that a run can be repeated.
fn runner() -> TestRunner {
    let seed = std::env::var("WIGWAG_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed: u64 = seed.unwrap_or(now.unwrap().as_nanos() as u64);
    eprintln!("WIGWAG_SEED={seed}");
    let cases = if std::env::var_os("WIGWAG_NIGHTLY").is_some() { CASES_NIGHTLY } else { CASES };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// Sends values of one type to every place with `ask`, and compares what comes back.
fn check<R, S, V>(
    runner: &mut TestRunner,
    name: &str,
    places: &Places<R>,
    values: S,
    ask: impl Fn(&R, V) -> Result<V, String>,
) where
    S: Strategy<Value = V>,
    V: Clone + PartialEq + std::fmt::Debug,
{
    // A runner stops for good after its number of cases.
    let mut runner = TestRunner::new_with_rng(runner.config().clone(), runner.new_rng());
    let checked = std::cell::Cell::new(0);
    let outcome = runner.run(&values, |value| {
        for (place, reference) in places {
            let back = ask(reference, value.clone());
            prop_assert!(back.as_ref() == Ok(&value), "{place}: {back:?}");
        }
        checked.set(checked.get() + 1);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(checked.get(), runner.config().cases, "{name}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_value_comes_back_from_every_place_in_either_codec() {
    let stage = Stage::new().await;
    let (echo, widths) = (stage.places(Echo, "echo").await, stage.places(Widths, "widths").await);
    let checked = tokio::task::spawn_blocking(move || {
        let mut runner = runner();
        echo::check_echo(&mut runner, &echo);
        echo::check_widths(&mut runner, &widths);
    });
    checked.await.unwrap();
    assert!(stage.nodes.iter().all(|node| node.statistics().len() == 1), "both nodes have called");
}
